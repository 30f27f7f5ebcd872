// /proc/N/environ is what a process was started with, so a mark cannot get lost. A number may be
// given to another process between a look and a signal: pidfd_open() holds on to the process, and
// the start time is compared behind it, so that a signal never hits a stranger.
#include "manager/hosts/job_processes.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>

#include <sys/syscall.h>
#include <unistd.h>

namespace penstock {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string folder_of(int process) { return "/proc/" + std::to_string(process); }

std::map<std::string, std::string> environment_of(int process) {
  std::map<std::string, std::string> variables;
  const std::string text = text_of(folder_of(process) + "/environ");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    const std::string entry = text.substr(at, end - at);
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) variables[entry.substr(0, equals)] = entry.substr(equals + 1);
    at = end + 1;
  }
  return variables;
}

struct Stat {
  char state = 'Z';
  std::int64_t start_ticks = 0;
};

// Behind the name, which may hold anything: state is the third field of the line, the start time
// the twenty-second (man proc).
std::optional<Stat> stat_of(int process) {
  const std::string text = text_of(folder_of(process) + "/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start_ticks)) return std::nullopt;
  return stat;
}

ProcessState state_in(const Stat& stat) {
  if (stat.state == 'Z' || stat.state == 'X') return ProcessState::kEnded;
  return stat.state == 'T' || stat.state == 't' ? ProcessState::kStopped : ProcessState::kRunning;
}

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

std::optional<JobProcess> process_of(int process, const std::string& job) {
  const auto variables = environment_of(process);
  const auto own = variables.find(kJobVariable);
  if (own == variables.end() || own->second != job) return std::nullopt;
  const auto generation = variables.find(kGenerationVariable);
  const auto machine = variables.find(kMachineVariable);
  const std::optional<Stat> stat = stat_of(process);
  if (generation == variables.end() || machine == variables.end() || !stat) return std::nullopt;
  const auto number = number_in<std::int64_t>(generation->second);
  if (!number) return std::nullopt;
  JobProcess found;
  found.id = {process, stat->start_ticks};
  found.generation = *number;
  found.machine = machine->second;
  found.is_launcher = !variables.contains("PENSTOCK_LAUNCHER_PROCESS");
  found.state = state_in(*stat);
  if (found.state == ProcessState::kEnded) return std::nullopt;
  return found;
}

// Closed with the object; -1 where there is no such process.
class ProcessHandle {
 public:
  explicit ProcessHandle(int process)
      : file_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
  ProcessHandle(const ProcessHandle&) = delete;
  ProcessHandle& operator=(const ProcessHandle&) = delete;
  ~ProcessHandle() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  [[nodiscard]] bool signal(int number) const {
    return syscall(SYS_pidfd_send_signal, file_, number, nullptr, 0) == 0;
  }

 private:
  int file_;
};

}  // namespace

std::vector<JobProcess> processes_of(const std::string& job) {
  std::vector<JobProcess> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto process = number_in<int>(entry->path().filename());
    if (!process) continue;
    if (auto one = process_of(*process, job)) found.push_back(*std::move(one));
  }
  std::ranges::sort(found, {}, [](const JobProcess& process) { return process.id.process; });
  return found;
}

std::optional<std::int64_t> start_ticks_of(int process) {
  const std::optional<Stat> stat = stat_of(process);
  if (!stat) return std::nullopt;
  return stat->start_ticks;
}

ProcessState state_of(const ProcessId& id) {
  const std::optional<Stat> stat = stat_of(id.process);
  if (!stat || stat->start_ticks != id.start_ticks) return ProcessState::kEnded;
  return state_in(*stat);
}

bool send_signal(const ProcessId& id, int signal) {
  const ProcessHandle handle(id.process);
  if (!handle.is_open() || start_ticks_of(id.process) != id.start_ticks) return false;
  return handle.signal(signal);
}

}  // namespace penstock
