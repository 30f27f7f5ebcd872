// Starts, finds and ends the ranks of one generation on all machines of a job.
//
// Two sources say what became of a rank: the processes of the machine, which only show who is left,
// and the generation's folder, where launchers write how their ranks ended. Processes are looked at
// first, so whoever is missing has written by then. Starting is safe to repeat: where a launcher of
// this generation runs or ran, nothing is started. Ending gives the generation up in its folder
// first, so that a machine that answers again later finds that its start no longer counts.
#include "manager/hosts/generation_ranks.h"

#include <algorithm>
#include <csignal>
#include <iterator>

namespace penstock {
namespace {

// A child looks like its launcher until it has become another program, so the oldest is meant.
std::optional<JobProcess> launcher_among(const std::vector<JobProcess>& processes) {
  std::optional<JobProcess> oldest;
  for (const JobProcess& process : processes) {
    if (!process.is_launcher) continue;
    if (!oldest || process.id.start_ticks < oldest->id.start_ticks) oldest = process;
  }
  return oldest;
}

bool end_some(HostAccess& hosts, const std::string& host, const std::vector<JobProcess>& doomed) {
  if (doomed.empty()) return true;
  std::vector<ProcessId> processes;
  processes.reserve(doomed.size());
  for (const JobProcess& process : doomed) processes.push_back(process.id);
  hosts.signal(host, processes, SIGKILL);
  return false;
}

}  // namespace

void GenerationRanks::start_on(const MachineRanks& machine) {
  const MachineSeen seen = look_at(machine);
  if (seen.launcher || seen.was_started) return;
  DetachedCommand command;
  command.words = generation_.command;
  for (const std::string& word :
       {std::string("--ranks-here"), to_text(machine.ranks), std::string("--meet"),
        generation_.folder, std::string("--address"), machine.host}) {
    command.words.push_back(word);
  }
  command.variables = generation_.variables;
  command.variables[kJobVariable] = generation_.job;
  command.variables[kGenerationVariable] = std::to_string(generation_.number);
  command.variables[kMachineVariable] = machine.host;
  command.output = output_of(machine);
  hosts_.start(machine.host, command);
}

std::vector<MachineSeen> GenerationRanks::look() {
  std::vector<MachineSeen> all;
  all.reserve(generation_.places.size());
  for (const MachineRanks& machine : generation_.places) all.push_back(look_at(machine));
  return all;
}

MachineSeen GenerationRanks::look_at(const MachineRanks& machine) {
  MachineSeen seen;
  seen.host = machine.host;
  auto processes = hosts_.processes(machine.host, generation_.job);
  seen.answers = processes.has_value();
  if (processes) {
    std::erase_if(*processes, [&](const JobProcess& process) {
      return process.generation != generation_.number;
    });
    seen.launcher = launcher_among(*processes);
    std::ranges::copy_if(*processes, std::back_inserter(seen.ranks),
                         [](const JobProcess& process) { return !process.is_launcher; });
  }
  // After the processes: who has ended by now has said so.
  if (const auto ranks = meeting_.read_ranks(machine.ranks)) {
    seen.was_started = true;
    seen.ends = ranks->ends;
  }
  return seen;
}

void GenerationRanks::ask(int signal, const std::string& host) {
  for (const MachineSeen& seen : look()) {
    if (!seen.launcher || (!host.empty() && seen.host != host)) continue;
    hosts_.signal(seen.host, {seen.launcher->id}, signal);
  }
}

bool GenerationRanks::end() {
  meeting_.give_up();
  bool all = true;
  for (const MachineRanks& machine : generation_.places) all = end_on(machine.host) && all;
  return all;
}

bool GenerationRanks::end_on(const std::string& host) {
  auto processes = hosts_.processes(host, generation_.job);
  if (!processes) return false;
  std::erase_if(*processes, [&](const JobProcess& process) {
    return process.generation != generation_.number;
  });
  return end_some(hosts_, host, *processes);
}

bool end_other_generations(HostAccess& hosts, const std::vector<std::string>& names,
                           const std::string& job, std::optional<std::int64_t> kept) {
  bool all = true;
  for (const std::string& host : names) {
    auto processes = hosts.processes(host, job);
    if (!processes) {
      all = false;
      continue;
    }
    if (kept) {
      std::erase_if(*processes,
                    [&](const JobProcess& process) { return process.generation == *kept; });
    }
    all = end_some(hosts, host, *processes) && all;
  }
  return all;
}

}  // namespace penstock
