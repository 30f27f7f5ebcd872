// Which GPUs of a job are slow, by how long every rank computes per step. Pure: a run under way, a
// log of one and a manager ask in the same way.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/rank_slowness.h"
#include "core/values/run_log.h"

namespace penstock {

struct SlowRule {
  double threshold = 0.15;  // so much longer than what it is compared with is slow
  int window = 10;          // steps, of which the median counts
  int in_a_row = 2;         // windows, until a rank counts as slow, or no longer
  int warm_up = 3;          // steps at the beginning that are not looked at
  bool operator==(const SlowRule&) const = default;
};

// What a plan has a rank of the job compute in a step (F, I, W, B, R).
struct RankShare {
  int pipeline_rank = 0, replica = 0;
  Duration predicted{};
  bool operator==(const RankShare&) const = default;
};
// By rank of the job, of a plan without tensor parallelism.
std::vector<RankShare> rank_shares(const PlanFile& plan);

// How long every rank of the job computed in a step: as the run says it, else by the times of its
// actions. Empty when the step says neither of every rank.
std::vector<Duration> rank_compute(const PlanFile& plan, const MeasuredStep& step);

// How many times as long as it should every rank computes: measured over predicted, divided by the
// median of that over the replicas of its stages where there are three or more of them, else over
// all ranks; of two ranks by the lesser. 0 of a rank that cannot be compared.
std::vector<double> slowness(const std::vector<RankShare>& shares,
                             const std::vector<Duration>& measured);

// Step by step, window by window.
class SlowWatch {
 public:
  explicit SlowWatch(std::vector<RankShare> shares, const SlowRule& rule = {});

  // Whether the ranks that are slow are others than before. `compute`: of every rank of the job.
  // Error{kBadInput} when it is of another number of ranks.
  bool observe(std::int64_t step, const std::vector<Duration>& compute);
  // Ascending ranks; figures of the last window in which each was slow.
  [[nodiscard]] std::vector<RankSlowness> slow() const;
  [[nodiscard]] int windows() const { return windows_; }
  [[nodiscard]] const SlowRule& rule() const { return rule_; }

 private:
  // Of one rank: windows in a row, and what it is found to be.
  struct State {
    int streak = 0;  // slow ones; negative: those that were not
    bool is_slow = false;
    RankSlowness found;
  };
  bool end_window(std::int64_t step);
  void note_hit(std::size_t rank, double factor, std::int64_t step);
  [[nodiscard]] bool is_slow_on_all_replicas(int pipeline_rank) const;

  std::vector<RankShare> shares_;
  SlowRule rule_;
  std::int64_t seen_ = 0;                       // steps, those of the warm-up among them
  std::int64_t window_begin_ = 0;               // its first step
  std::vector<std::vector<Duration>> samples_;  // [rank], of the window
  std::vector<State> states_;
  int windows_ = 0;
};

}  // namespace penstock
