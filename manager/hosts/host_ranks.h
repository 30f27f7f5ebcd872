// The manager's hands: the ranks of a generation as processes on the job's machines, whichever way
// leads there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/hosts/generation_ranks.h"
#include "manager/hosts/run_progress.h"
#include "manager/job_file.h"
#include "manager/rank_processes.h"
#include "training/steady_time.h"

namespace penstock {

struct HostRanksOptions {
  std::string job;                   // an id that no other job of these machines has
  std::string run_folder;            // which all machines see
  std::string program = "penstock";  // on every machine
  std::vector<std::string> train;    // arguments of `penstock train` besides the plan
  std::map<std::string, std::string> variables;
  Duration look_every = std::chrono::milliseconds(100);  // at the machines
  // A launcher that is not to be seen for so long has ended; it may just be about to begin.
  Duration missing_for = std::chrono::milliseconds(500);
  Duration lost_after = std::chrono::seconds(30);  // without an answer
  bool watch_slow_ranks = true;                    // into slow_ranks_path()
};

// Of a job file; `folder`: from which its relative paths count.
HostRanksOptions host_ranks_options(const JobFile& job, const std::string& folder,
                                    const std::string& program);

class HostRanks final : public RankProcesses {
 public:
  HostRanks(HostAccess& hosts, HostRanksOptions options)
      : hosts_(hosts), options_(std::move(options)) {}

  void start(const StartRanks& what) override;
  void signal(const SignalRanks& what) override;
  void adopt(const JobState& state) override;
  std::vector<Event> poll() override;

 private:
  // Since when something is as it should not be.
  struct Watch {
    std::optional<SteadyTime> no_launcher, no_answer;
    bool told_lost = false;
  };

  void take(const StartRanks& what);
  [[nodiscard]] std::vector<std::string> command_of(const StartRanks& what) const;
  void look_at(const MachineRanks& machine, const MachineSeen& seen, std::vector<Event>& events);
  void tell_end(const MachineRanks& machine, const RankEnded& end, std::vector<Event>& events);
  void tell_steps(std::vector<Event>& events);
  [[nodiscard]] bool all_told(const MachineRanks& machine) const;

  HostAccess& hosts_;
  HostRanksOptions options_;
  std::unique_ptr<GenerationRanks> ranks_;
  std::unique_ptr<RunProgress> progress_;
  std::map<std::string, Watch> watched_;  // by host
  std::set<int> told_;                    // ranks whose end was reported
  std::optional<SteadyTime> looked_;
  std::vector<Event> failed_starts_;
};

}  // namespace penstock
