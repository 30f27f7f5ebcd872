// One run of the zero-bubble heuristic (sail-sg/zero-bubble-pipeline-parallelism, scheduler/zb.py;
// rules in docs/schedules.md): lists of F, I and W for given costs and memory limits. An object
// keeps its memory from run to run, since a search makes hundreds of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/schedules/automatic_input.h"
#include "simulator/schedules/split_lists.h"
#include "simulator/schedules/stage_costs.h"

namespace penstock {

struct ZbVariant {
  bool wait_for_gradient;  // warm-up: no forward that would delay the first I
  bool hurry_gradient;     // no forward that would delay the next I
  bool fill_every_gap;     // a W in every gap, even if what comes next is late for it
  // Ours. Warm-up of stage s in proportion to the way from it to the last stage and back, instead
  // of at least one forward less per stage: with less memory than P activations, or uneven stages.
  bool proportional_warm_up = false;
};

class ZbHeuristic {
 public:
  ZbHeuristic(const StageCosts& costs, int micro_batches, Shortest shortest);

  // The span (or makespan) of the lists; nothing when it is not shorter than `best`. Every limit
  // must admit one forward.
  std::optional<Duration> run(const ZbVariant& variant, std::span<const std::int64_t> limits,
                              Duration best);
  // Of the last run that returned something.
  [[nodiscard]] const SplitLists& lists() const { return lists_; }

  // About the last run, whether it returned something or not. Which switches of the variant changed
  // something: without them it would have gone the same.
  [[nodiscard]] const ZbVariant& mattered() const { return mattered_; }
  // Least limit of the stage with which, the others equal, it would have gone the same.
  [[nodiscard]] std::int64_t least_limit(std::size_t stage) const {
    return stages_[stage].most_admitted;
  }

 private:
  struct Stage : PipelineStage {
    Duration* forward_ends = nullptr;

    Duration clock{0};
    Duration idle{0};  // after the first forward
    Duration
        charged;  // work of the whole step and, for the makespan, the wait for the first forward
    Duration gradient_end{0};
    std::int64_t limit = 0, memory = 0, most_admitted = 0;
    int forwards = 0, inputs = 0, weights = 0;
    int warm_up = 0;  // forwards before the first I, beyond one
    bool forward_now = false;
    SplitStep* next = nullptr;  // in the stage's list

    [[nodiscard]] int pending() const { return inputs - weights; }
    bool admits(std::int64_t held) {
      if (held > limit) return false;
      most_admitted = std::max(most_admitted, held);
      return true;
    }
  };

  void reset(std::span<const std::int64_t> limits);
  void warm_up();
  Duration count_warm_up(Stage& stage, Duration arrival);
  void shape_warm_up(const Stage& before, Stage& stage);
  int proportional_share(const Stage& stage, int most);
  void round();
  [[nodiscard]] bool wants_forward(Stage& stage, const Stage& behind);
  static Duration weights_before_forward(Stage& stage);

  void put_forward(std::size_t j);
  void put_input(std::size_t j);
  static void put_weight(Stage& stage);
  static void put_pending_weights(Stage& stage);
  void fill(Stage& stage, Duration until);
  void wait(Stage& stage, Duration ready);

  int micro_batches_;
  Shortest shortest_;
  std::vector<Stage> stages_;
  std::vector<Duration> forward_ends_;
  SplitLists lists_;

  ZbVariant variant_{}, mattered_{};
  Duration best_{0}, most_idle_{0};
  bool lost_ = false;
};

}  // namespace penstock
