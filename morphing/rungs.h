// What there is to choose from when GPUs come and go, and what a change costs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/values/units.h"

namespace penstock {

// A plan that may run: on so many GPUs (or more, which then idle) a step takes so long. All rungs
// train the same global batch, so steps are what their work is counted in.
struct Rung {
  int gpus = 1;
  Duration step{};
  // Where device types are counted: how many of each. In the same order as whatever says how many
  // there are.
  std::vector<int> of_types{};

  [[nodiscard]] double steps_per_second() const { return 1e9 / static_cast<double>(step.count()); }
  bool operator==(const Rung&) const = default;
};

// What a change of the plan costs. All are durations of the whole job.
struct ChangeCosts {
  Duration write{};    // of a checkpoint while nothing else runs
  Duration restart{};  // stop, start processes, rendezvous, load, warm up: until the first new step
  Duration every{};    // work between two checkpoints in the background; 0: every step is kept
  Duration notice{};   // before a loss, where the recording does not say
  Duration stall{};    // of the job for each checkpoint in the background

  // Of a change that was decided, or announced early enough to write a checkpoint first.
  [[nodiscard]] Duration planned() const { return write + restart; }
  bool operator==(const ChangeCosts&) const = default;
};

// Whether a rung can run on so many GPUs, of which so many are of each type.
bool fits(const Rung& rung, int gpus, std::span<const int> of_types);

// Ascending by speed and, where types are not counted, by GPUs: a rung that is no faster than one
// of fewer GPUs (of some type, and of no type more) is left out. Error{kBadInput} when a step takes
// no time.
std::vector<Rung> useful_rungs(std::vector<Rung> rungs);

// The fastest of them that fits; nothing when none is that small. `rungs`: useful ones.
std::optional<std::size_t> fastest_rung(const std::vector<Rung>& rungs, int gpus,
                                        std::span<const int> of_types = {});

}  // namespace penstock
