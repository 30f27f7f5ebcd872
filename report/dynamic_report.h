// What becomes of training on samples of different lengths under ways to form micro-batches, for
// people and for scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/json.h"
#include "core/values/sample_lengths.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

// One micro-batch of a planned batch.
struct DynamicMicroBatch {
  MicroBatchShape shape;
  std::vector<int> samples;  // by their places in the batch
  std::int64_t real_tokens = 0;
  double weight = 0.0;  // of its loss in that of the step
};

// One global batch under one method.
struct DynamicStep {
  Duration step{};      // with reductions and optimizer
  Duration makespan{};  // first to last action
  double objective_ns = 0.0;
  std::int64_t real_tokens = 0, padded_tokens = 0;
  std::string schedule, recompute;
  std::vector<Bytes> peak;  // by rank of one replica
  std::vector<std::vector<DynamicMicroBatch>> replicas;
  std::optional<Duration> planning{};  // where it was timed
  std::int64_t replays = 0;
};

struct DynamicMethod {
  std::string name;                // "dynamic"
  std::string setting;             // "8 samples", "4,096 tokens", "2 rows"; empty: it has none
  std::string layout;              // "TP 1 x PP 4 x DP 8"
  std::string why_not;             // nothing fits; there are no steps then
  std::vector<DynamicStep> steps;  // by batch

  [[nodiscard]] std::int64_t real_tokens() const;
  [[nodiscard]] std::int64_t padded_tokens() const;
  [[nodiscard]] Duration time() const;  // of all steps
  [[nodiscard]] double tokens_per_s() const;
};

// How well the prices of shapes foretell their own points.
struct AxisErrors {
  std::string axis;
  std::int64_t points = 0;
  double mean_time = 0.0, worst_time = 0.0, mean_stash = 0.0, worst_stash = 0.0;
};

// Samples of [from, to) tokens; the decoder's tokens are counted beside.
struct LengthBin {
  int from = 1, to = 2;
  std::int64_t samples = 0, decoder_samples = 0;
  bool operator==(const LengthBin&) const = default;
};
// Two bins an octave, from the shortest length to the longest.
std::vector<LengthBin> histogram_of(const std::vector<SampleLength>& samples);

struct DynamicReport {
  std::string question;  // model, machine, executor
  std::string lengths;   // file, samples, mean, longest, how many were cut
  std::int64_t tokens_per_batch = 0;
  std::uint64_t seed = 1;
  bool pairs = false;                // encoder and decoder have lengths of their own
  std::vector<LengthBin> histogram;  // of all samples
  std::vector<std::vector<SampleLength>> batches;
  std::vector<DynamicMethod> methods;   // "dynamic" first
  std::int64_t layouts = 0, plans = 0;  // tried
  bool complete = true;                 // false: a budget or Ctrl-C ended the search
  std::vector<AxisErrors> errors;
  std::vector<std::string> notes, not_searched;

  [[nodiscard]] const DynamicMethod& dynamic() const { return methods.front(); }
};

// How many times as fast the first method is: of all batches together, and of nine of ten of them.
struct SpeedUp {
  double of_all = 0.0, low = 0.0, high = 0.0;
};
SpeedUp speed_up(const DynamicMethod& dynamic, const DynamicMethod& other);

// The median of what planning took, and how many threads plan as fast as training runs.
struct PlanningTime {
  Duration median{};
  int threads = 1;
};
std::optional<PlanningTime> planning_time(const DynamicMethod& method);

// At most twenty lines.
std::string dynamic_text(const DynamicReport& report, Screen screen);
Json dynamic_json(const DynamicReport& report);
// A step, micro-batch by micro-batch, with the lengths of its samples.
Json dynamic_step_json(const DynamicStep& step, const std::vector<SampleLength>& lengths,
                       bool pairs);
// Every batch under the first method.
Json dynamic_statistics(const DynamicReport& report);

}  // namespace penstock
