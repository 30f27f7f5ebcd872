// GPUs that come and go: a recording of spot or preemptible capacity, or one made up for a test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct AvailableMachine {
  std::string name;  // never used twice in a recording
  int gpus = 1;
  int type = 0;  // index into the recording's types, where it has some
  bool operator==(const AvailableMachine&) const = default;
};

// What happens at one moment, all of it together: one wave of preemptions is one change.
struct AvailabilityChange {
  Duration at{};                   // since the start of the recording
  int gpus = 0;                    // that there are from then on
  std::vector<int> added, lost;    // indices into the recording's machines
  std::optional<Duration> notice;  // how long before `at` the losses were announced, if it is known
  std::optional<double> usd_per_gpu_hour;  // from then on, if it is known
  std::vector<int> of_types{};             // GPUs of each of the recording's types
  bool operator==(const AvailabilityChange&) const = default;
};

struct Availability {
  std::vector<AvailableMachine> machines;   // empty: only the number of GPUs was recorded
  std::vector<AvailabilityChange> changes;  // `at` rises strictly
  Duration end{};                           // not before the last change
  std::vector<std::string> types{};         // of devices; empty: GPUs are counted, not their types
  // Of a last row that counts other GPUs than the one before: it is the end, and changes nothing.
  std::optional<int> gpus_at_end{};

  [[nodiscard]] bool names_machines() const { return !machines.empty(); }
  bool operator==(const Availability&) const = default;
};

}  // namespace penstock
