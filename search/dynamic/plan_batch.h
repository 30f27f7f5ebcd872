// The planner of one global batch of samples of different lengths (DynaPipe, arXiv 2311.10418):
// which samples form a micro-batch, which replica takes it, in what order and schedule they run.
// A pure function: the same batch gets the same plan for any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "search/dynamic/length_batch.h"
#include "search/dynamic/shape_costs.h"
#include "search/evaluate.h"

namespace penstock {

// How micro-batches are formed. All others are there to compare with, and go the same way:
// rounding, memory, balance of the replicas, costs, orders, schedules and replay.
enum class BatchMethod {
  kDynamic,      // samples of similar length, cut exactly
  kTokenBudget,  // along the same order, closed at so many rounded tokens
  kFixedSize,    // along the same order, so many samples each
  kPacked,       // rows as long as the longest sample hold several; so many rows each
};

// One of the others with its setting.
struct BatchRule {
  BatchMethod method = BatchMethod::kTokenBudget;
  std::int64_t amount = 1;  // tokens, samples or rows
  bool operator==(const BatchRule&) const = default;
};

// A recompute mode that may be used.
struct RecomputeChoice {
  std::string mode = "none";          // Plan::recompute
  const ShapeCosts* costs = nullptr;  // the caller keeps it
};

struct BatchQuestion {
  // P, V, D, T, stage map, cuts, ZeRO-1, placement, device. Its schedule, batch and recompute mode
  // are the planner's to choose.
  Plan layout;
  std::vector<RecomputeChoice> recompute;
  // Names of simulator/schedules to choose among; empty: all that the planner knows for the layout,
  // of which 1F1B (of several chunks interleaved) is always one, but on the V. That stands in where
  // none of them takes as many micro-batches as a replica gets.
  std::vector<std::string> schedules;
  ExecutorModel executor;
  PerRank<Bytes> capacity = Bytes{};  // of the devices of one pipeline
  PerRank<Bytes> reserve = Bytes{};
  ErrorBand interval{};  // of step times, relative to them
  LengthRounding rounding;

  BatchMethod method = BatchMethod::kDynamic;
  int size = 1;             // of kFixedSize: samples; of kPacked: rows
  std::int64_t tokens = 0;  // of kTokenBudget
  bool packs = false;       // several samples may share a row where that is faster
  // What these form is weighed as well, by the search that each would have by itself: the plan is
  // never slower than theirs. The cut is exact for an objective that only estimates the step
  // (docs/dynamic_batches.md).
  std::vector<BatchRule> rivals;

  // Replays that the search for one replica's order may spend each time.
  std::int64_t replays = 500;
  std::uint64_t seed = 1;
  int threads = 1;
};

struct PlannedMicroBatch {
  int shape = 0;                       // index into Batch::shapes
  std::vector<std::vector<int>> rows;  // samples, row by row; without packing one each
  std::int64_t real_tokens = 0;        // fed, without padding
  std::int64_t loss_tokens = 0;
  double weight = 0.0;  // its loss tokens over those of the global batch; gradients are summed
};

// One replica, in the order in which its micro-batches run.
struct PlannedReplica {
  std::vector<PlannedMicroBatch> micro_batches;
  Duration compute{};  // until its last backward has ended
};

struct PlanningCounts {
  std::int64_t shapes = 0;       // priced
  std::int64_t splits = 0;       // exact splits
  std::int64_t evaluations = 0;  // of the bound, in all splits
  std::int64_t replays = 0;      // of one replica
};

struct BatchPlan {
  // Why nothing fits, naming the sample or the rank; empty when there is a plan.
  std::string why_not;
  // The plan with its Program, prices, timeline and memory: to_plan_file() takes it.
  EvaluatedPlan evaluated;
  std::vector<PlannedReplica> replicas;  // D entries, as Plan::batch numbers them
  double objective_ns = 0.0;             // (P - 1) * longest / V + the sum over micro-batches / D
  double longest_ns = 0.0;               // micro-batch, on its slowest rank
  std::int64_t real_tokens = 0;          // fed
  std::int64_t padded_tokens = 0;        // what the shapes hold: at least as many
  bool needs_sample_mask = false;        // several samples share a row
  PlanningCounts counts;

  [[nodiscard]] Duration makespan() const { return evaluated.evaluation.makespan; }
};

// Error{kBadInput} for lengths or a question that cannot be. "Does not fit" is an answer.
BatchPlan plan_batch(const BatchQuestion& question, const LengthBatch& batch);

}  // namespace penstock
