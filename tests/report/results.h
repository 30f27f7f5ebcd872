// Results written by hand, for the tests of this folder.
#pragma once

#include "core/values/evaluation.h"
#include "core/values/units.h"

namespace penstock::tests {

using namespace std::chrono_literals;

// A rank of `busy` ms, that waits for the rest of 100 ms in warm-up, and uses `gib` of 40 GiB, all
// of it stash but 1 GiB of parameters.
inline RankEvaluation rank(int busy, int gib) {
  RankEvaluation rank;
  rank.capacity = Bytes{40LL << 30};
  rank.memory.parameters = Bytes{1LL << 30};
  rank.memory.stash = Bytes{static_cast<std::int64_t>(gib - 1) << 30};
  rank.time.busy = std::chrono::milliseconds(busy);
  rank.time.warm_up = std::chrono::milliseconds(100 - busy);
  return rank;
}

// A step of 100 ms on two ranks: 80 and 90 ms of work, 30 and 20 GiB.
inline Evaluation evaluation() {
  Evaluation evaluation;
  evaluation.step_time = 100ms;
  evaluation.step_time_low = 95ms;
  evaluation.step_time_high = 105ms;
  evaluation.makespan = 100ms;
  evaluation.longest_span = 96ms;
  evaluation.ideal = 90ms;
  evaluation.ranks = {rank(80, 30), rank(90, 20)};
  return evaluation;
}

// P = 2, D = 3, b = 2 on 6 GPUs: 20 samples, so that replicas take 7, 7 and 6, and M = 4.
inline Plan plan() {
  Plan plan;
  plan.pipeline = 2;
  plan.data = 3;
  plan.micro_batch_size = 2;
  plan.global_batch = 20;
  plan.device = "a100";
  plan.cuts = {0, 2, 3};
  return plan;
}

inline RankedPlan ranked() {
  RankedPlan ranked;
  ranked.plan = plan();
  ranked.evaluation = evaluation();
  ranked.placed = "PP ranks are next to each other";
  return ranked;
}

}  // namespace penstock::tests
