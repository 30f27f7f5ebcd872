// Predicted against measured: a run of a plan laid over the plan's own replay, action by action.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/plan_file.h"
#include "core/values/run_log.h"
#include "core/values/timeline.h"
#include "report/screen.h"

namespace penstock {

// Steps at the beginning of a run that do not count, where it has more.
constexpr int kWarmUpSteps = 3;

// Of an even number the lower of the two in the middle, so that it is a value that was measured. At
// least one value.
Duration median_of(std::vector<Duration> values);

struct ValidationOptions {
  int warm_up = kWarmUpSteps;
  double tolerance = 0.10;  // of the step time, relative to the measured one
};

// How far a prediction is off, as a share of what was measured: -0.05 is 5 % too short.
inline double prediction_error(Duration predicted, Duration measured) {
  return measured == Duration{} ? 0.0
                                : static_cast<double>((predicted - measured).count()) /
                                      static_cast<double>(measured.count());
}

// Actions of one kind and stage, on all replicas.
struct KindComparison {
  ActionKind kind = ActionKind::kForward;
  int stage = 0;
  std::int64_t count = 0;                     // of one step, over all replicas
  Duration predicted{};                       // mean of one action
  Duration measured{}, fastest{}, slowest{};  // median of one, over steps and micro-batches
  bool operator==(const KindComparison&) const = default;
};

// One action of one rank: medians over the steps in which it was measured.
struct ActionComparison {
  int rank = 0;  // of the job
  std::string name;
  Duration predicted_start{}, predicted_end{};
  Duration measured_start{}, measured_end{};
  bool operator==(const ActionComparison&) const = default;
};

// One rank of the job: medians over the steps.
struct RankComparison {
  int rank = 0;
  Duration predicted_busy{}, measured_busy{};  // F, I, W, B, R, OPT, as far as they were measured
  Duration predicted_end{}, measured_end{};    // of its last action that was measured
  bool operator==(const RankComparison&) const = default;
};

// What sections gathered and reduced by themselves, within forwards and backwards.
struct SectionComparison {
  ActionKind kind = ActionKind::kUnshard;
  std::int64_t count = 0;                     // of one step, over all ranks
  Duration measured{}, fastest{}, slowest{};  // median of one, over steps, sections and ranks
  bool operator==(const SectionComparison&) const = default;
};

// What the allocator of a rank held at most, beside the prediction without the device's reserve.
struct MemoryComparison {
  int rank = -1;  // of the job; -1: not said, the fullest of the plan
  Bytes predicted;
  std::optional<Bytes> allocated;  // where it was measured
  Bytes reserved;                  // with what the allocator kept free
  bool operator==(const MemoryComparison&) const = default;
};

struct Validation {
  int steps = 0;    // that count
  int skipped = 0;  // at the beginning
  Duration predicted{};
  Duration measured{};         // median
  Duration measured_spread{};  // median absolute deviation
  Duration fastest{}, slowest{};
  double error = 0.0;  // of the step time
  double tolerance = 0.0;
  std::int64_t steps_per_mean = 1;       // a measured time is the mean of that many steps
  std::vector<MemoryComparison> memory;  // ascending ranks; empty where nothing was measured
  int traced_steps = 0;  // that hold when every action ran; without any, what follows is empty
  std::vector<KindComparison> kinds;        // by kind, then stage
  std::vector<SectionComparison> sections;  // by kind; seldom any
  std::vector<RankComparison> ranks;        // ascending
  std::vector<ActionComparison> actions;    // by rank, in the order of its list
  [[nodiscard]] bool holds() const { return error <= tolerance && error >= -tolerance; }
  bool operator==(const Validation&) const = default;
};

// `predicted`: the replay of the plan's Program. Error{kBadInput} when the run has no step after
// the warm-up, or its lists are not those of the plan; `run_name` is for messages.
Validation validate(const PlanFile& plan, const Timeline& predicted, const RunLog& run,
                    const ValidationOptions& options, const std::string& run_name);

std::string validation_report(const Validation& validation, const RunHeader& run, Screen screen);
// Appends the comparison to `json`, every action included.
void set_validation(Json& json, const Validation& validation);

}  // namespace penstock
