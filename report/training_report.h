// What a training run has come to: one line per step while it goes, a summary at its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/run_log.h"
#include "core/values/units.h"

namespace penstock {

// "step 12 of 50: loss 5.213, gradient norm 0.83, 1.204 s, 1,701 tokens/s". `end_step`: one behind
// the run's last.
std::string step_line(const MeasuredStep& step, std::int64_t end_step);

struct TrainingSummary {
  int steps = 0;
  int skipped_updates = 0;  // float16 overflows
  double first_loss = 0.0, last_loss = 0.0;
  int timed_steps = 0;   // after the warm-up of three, or all where there are no more
  Duration step_time{};  // median of them
  double tokens_per_second = 0.0;
};
// `run` has at least one step.
TrainingSummary summarize(const RunLog& run);

// A plan of the run, and the step time that it predicts.
struct PredictedPlan {
  std::string path, hash;
  Duration step_time{};
};

// `plans`: all that the run had, each once, the header's first. Of several each has its step time
// beside its prediction.
std::string training_report(const RunLog& run, const std::vector<PredictedPlan>& plans);
// Appends the summary and every step, without times of single actions.
void set_training(Json& json, const RunLog& run, const std::vector<PredictedPlan>& plans);

}  // namespace penstock
