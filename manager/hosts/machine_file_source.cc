#include "manager/hosts/machine_file_source.h"

#include <algorithm>

namespace penstock {

void MachineFileSource::begin(const JobState& state) {
  listed_.clear();
  for (const JobMachine& machine : state.machines) {
    listed_.push_back({machine.name, machine.gpus, machine.device});
  }
}

std::vector<Event> MachineFileSource::poll() {
  const MachineFile::Look look = file_.look();
  if (!look.wrong.empty()) complain_(look.wrong);
  if (!look.machines) return {};
  std::vector<Event> events;
  for (const ListedMachine& before : listed_) {
    if (std::ranges::find(*look.machines, before.host, &ListedMachine::host) !=
        look.machines->end()) {
      continue;
    }
    events.emplace_back(
        MachineLeaves{before.host, clock_(), "it is no longer listed in the machine file"});
  }
  for (const ListedMachine& now : *look.machines) {
    if (std::ranges::find(listed_, now) != listed_.end()) continue;
    events.emplace_back(MachineJoined{now.host, now.gpus, now.device});
  }
  listed_ = *look.machines;
  return events;
}

void MachineFileSource::decided(const Event& /*event*/, const JobDecision& /*decision*/) {}

}  // namespace penstock
