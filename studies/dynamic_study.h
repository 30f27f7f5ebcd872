// Before training on samples of different lengths: which layout is best, and what forming
// micro-batches of different shapes gains over token budgets, fixed sizes and packing. Every method
// is given its own best layout and setting, and all go through the same costs, memory, balance of
// replicas, schedules and replay.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "report/dynamic_report.h"
#include "search/dynamic/length_batch.h"
#include "search/evaluate.h"
#include "search/question.h"
#include "studies/sampled_batches.h"

namespace penstock {

struct DynamicRequest {
  LengthBatch samples;  // one epoch
  LengthRounding rounding;
  SampledBatches drawn;
  bool packs = false;             // "dynamic" may put several samples into a row
  std::int64_t replays = 500;     // that ordering the micro-batches of a batch may take
  std::function<Duration()> now;  // a clock, to time the planner by; empty: it is not timed
};

struct DynamicStudy {
  DynamicReport report;                // but for the words on the question and the lengths
  std::optional<EvaluatedPlan> first;  // the first batch under "dynamic"
};

// The same bytes for any number of threads, unless it is stopped. Error{kBadInput} for samples that
// cannot be; that nothing fits is an answer.
DynamicStudy study_dynamic(const Question& question, const DynamicRequest& request,
                           SearchProgress& progress);

}  // namespace penstock
