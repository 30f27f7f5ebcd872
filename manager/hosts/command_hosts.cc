// Three scripts for a POSIX shell. They end with a word of their own, so that an answer that is cut
// off, or a login that only prints a greeting, is not taken for one.
#include "manager/hosts/command_hosts.h"

#include <algorithm>
#include <sstream>

#include "core/values/error.h"
#include "manager/hosts/run_command.h"

namespace penstock {
namespace {

constexpr const char* kEnd = "penstock-answered";

std::string start_script(const std::string& folder, const DetachedCommand& command) {
  std::vector<std::string> words{"setsid", "env"};
  for (const auto& [name, value] : command.variables) {
    words.push_back(name);
    words.back().append("=").append(value);
  }
  words.insert(words.end(), command.words.begin(), command.words.end());
  return "cd " + quoted_for_shell(folder) + " && { " + shell_line(words) + " >>" +
         quoted_for_shell(command.output) + " 2>&1 </dev/null & echo " + kEnd + "; }";
}

// Per process: number, start time, state, generation, 1 for a rank, machine. The name of a process
// may hold blanks and brackets, so the fields of stat count from behind the last bracket.
std::string look_script(const std::string& job) {
  const std::string mark = std::string(kJobVariable) + "=" + job;
  return "for p in /proc/[0-9]*; do e=$(tr '\\0' '\\n' 2>/dev/null <$p/environ) || continue; "
         "printf '%s\\n' \"$e\" | grep -qxF " +
         quoted_for_shell(mark) +
         " || continue; s=$(cat $p/stat 2>/dev/null) || continue; set -- ${s##*) }; "
         "echo ${p#/proc/} ${20} $1 "
         "$(printf '%s\\n' \"$e\" | grep -c '^PENSTOCK_LAUNCHER_PROCESS=') "
         "$(printf '%s\\n' \"$e\" | sed -n 's/^" +
         std::string(kGenerationVariable) + "=//p') $(printf '%s\\n' \"$e\" | sed -n 's/^" +
         std::string(kMachineVariable) + "=//p'); done; echo " + kEnd;
}

std::string signal_script(const std::vector<ProcessId>& processes, int signal) {
  std::string script;
  for (const ProcessId& id : processes) {
    const std::string process = std::to_string(id.process);
    script.append("s=$(cat /proc/")
        .append(process)
        .append("/stat 2>/dev/null) && set -- ${s##*) } && [ \"${20}\" = ")
        .append(std::to_string(id.start_ticks))
        .append(" ] && kill -")
        .append(std::to_string(signal))
        .append(" ")
        .append(process)
        .append("; ");
  }
  return script + "echo " + kEnd;
}

std::optional<JobProcess> process_in(const std::string& line) {
  std::istringstream fields(line);
  JobProcess process;
  std::string state;
  int is_rank = 0;
  if (!(fields >> process.id.process >> process.id.start_ticks >> state >> is_rank >>
        process.generation >> process.machine)) {
    return std::nullopt;  // it ended while the script looked
  }
  if (state == "Z" || state == "X") return std::nullopt;
  process.is_launcher = is_rank == 0;
  process.state = state == "T" || state == "t" ? ProcessState::kStopped : ProcessState::kRunning;
  return process;
}

}  // namespace

std::optional<std::string> CommandHosts::answer(const std::string& host,
                                                const std::string& script) const {
  const CommandOutput output = run_command(command_.words(host, {"sh", "-c", script}), limit_);
  const std::size_t end = output.text.rfind(kEnd);
  if (output.exit_code != 0 || end == std::string::npos) return std::nullopt;
  return output.text.substr(0, end);
}

void CommandHosts::start(const std::string& host, const DetachedCommand& command) {
  if (answer(host, start_script(folder_, command))) return;
  throw Error(
      ErrorKind::kMissingResource,
      host + ": does not answer, so that " + command.words.front() +
          " cannot be started there\nhelp: try: " + shell_line(command_.words(host, {"true"})));
}

std::optional<std::vector<JobProcess>> CommandHosts::processes(const std::string& host,
                                                               const std::string& job) {
  const std::optional<std::string> text = answer(host, look_script(job));
  if (!text) return std::nullopt;
  std::vector<JobProcess> found;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (auto process = process_in(line)) found.push_back(*std::move(process));
  }
  std::ranges::sort(found, {}, [](const JobProcess& process) { return process.id.process; });
  return found;
}

bool CommandHosts::signal(const std::string& host, const std::vector<ProcessId>& processes,
                          int signal) {
  return answer(host, signal_script(processes, signal)).has_value();
}

}  // namespace penstock
