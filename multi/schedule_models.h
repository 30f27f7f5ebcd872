// Several models on the GPUs of a cluster: every way to share them that is known here is tried, and
// the best one is worked out in full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "multi/gang.h"
#include "multi/replay_units.h"
#include "multi/schedule_value.h"

namespace penstock {

// At least one option, or units. A model with units may also run to its end on one GPU.
struct SharedModel {
  std::string name;
  std::vector<GangOption> options;
  std::optional<UnitTask> units;
  Wishes wishes;
};

struct MultiQuestion {
  std::vector<SharedModel> models;
  NodeSizes nodes;
  HostLinks links;
  std::uint64_t seed = 1;

  [[nodiscard]] int gpus() const;
};

struct MultiCandidate {
  std::string name;
  ScheduleValue value;
};

// When and where a model runs in the best schedule.
struct ModelRun {
  Duration start{}, end{};
  std::vector<int> gpus;  // ascending; all on which a unit of it runs
  std::string words;      // of the technique
};
// A stretch of one model on one GPU.
struct GpuBlock {
  int gpu = 0, model = 0;
  Duration start{}, end{};
  bool operator==(const GpuBlock&) const = default;
};

struct MultiAnswer {
  Duration bound{};  // that no schedule of these options and units beats
  std::vector<MultiCandidate> candidates;
  std::size_t best = 0;          // the first of the best
  std::vector<ModelRun> models;  // of the best
  std::vector<GpuBlock> blocks;  // likewise, by GPU, then by start
};

// Error{kInternal} where an option has more GPUs than there are.
MultiAnswer schedule_models(const MultiQuestion& question);

// Units as stretches: two with less than `least_gap` between them are one.
std::vector<GpuBlock> blocks_of(const std::vector<UnitRun>& runs, int gpus, Duration least_gap);
// The gangs of a schedule, GPU by GPU.
std::vector<GpuBlock> blocks_of(const GangSchedule& schedule);
std::vector<ModelRun> model_runs(const GangSchedule& schedule, const std::vector<GangTask>& tasks);

// The models as gangs: those with units get the option of one GPU that they keep to the end.
std::vector<GangTask> as_gangs(const MultiQuestion& question);

}  // namespace penstock
