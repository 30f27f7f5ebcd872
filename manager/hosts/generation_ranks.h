// The ranks of one start of the job (a generation) on all of its machines. One launcher per machine
// runs them (penstock train --ranks-here); it dies with its ranks and they with it, so a generation
// is over when no launcher is left. How ranks ended stands in the generation's folder: nobody here
// is their parent, at least not after the manager was restarted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manager/hosts/host_access.h"
#include "runtime_bridge/meeting_folder.h"

namespace penstock {

struct MachineRanks {
  std::string host;
  RanksHere ranks;
  bool operator==(const MachineRanks&) const = default;
};

struct GenerationPlaces {
  std::string job;  // its id
  std::int64_t number = 0;
  std::string folder;                // its own, which all machines see
  std::vector<MachineRanks> places;  // rank 0 first
  std::vector<std::string> command;  // penstock train PLAN ..., of all machines
  std::map<std::string, std::string> variables;
  bool operator==(const GenerationPlaces&) const = default;
};

// What can be seen of a machine's part.
struct MachineSeen {
  std::string host;
  bool answers = true;
  std::optional<JobProcess> launcher;  // nothing: not started, or ended
  std::vector<JobProcess> ranks;       // those that run, or are stopped
  bool was_started = false;            // ranks were, however that ended
  std::vector<RankEnd> ends;           // that the launcher told
  bool operator==(const MachineSeen&) const = default;
};

class GenerationRanks {
 public:
  GenerationRanks(HostAccess& hosts, GenerationPlaces generation)
      : hosts_(hosts), generation_(std::move(generation)), meeting_(generation_.folder) {}

  // Where a launcher of this generation runs already, or ran, nothing is started.
  // Error{kMissingResource} when the machine cannot start it.
  void start_on(const MachineRanks& machine);
  [[nodiscard]] std::vector<MachineSeen> look();
  // To the launchers, which pass it on: SIGUSR1 and SIGTERM write a checkpoint and end.
  // `host`: to this one only; empty: all.
  void ask(int signal, const std::string& host);
  // For good and at once, stopped processes as well; whether nobody is left. Machines that do not
  // answer count as left; if they ever come back, they find that this start was given up.
  bool end();
  // Of one machine; the others go on.
  bool end_on(const std::string& host);
  [[nodiscard]] const GenerationPlaces& places() const { return generation_; }
  [[nodiscard]] std::string output_of(const MachineRanks& machine) const {
    return generation_.folder + "/ranks-" + to_text(machine.ranks) + ".txt";
  }

 private:
  [[nodiscard]] MachineSeen look_at(const MachineRanks& machine);

  HostAccess& hosts_;
  GenerationPlaces generation_;
  MeetingFolder meeting_;
};

// Ends what any other generation of the job has left on these machines: ranks that were started
// when the manager was killed before it could note it. Whether nobody is left.
bool end_other_generations(HostAccess& hosts, const std::vector<std::string>& names,
                           const std::string& job, std::optional<std::int64_t> kept);

}  // namespace penstock
