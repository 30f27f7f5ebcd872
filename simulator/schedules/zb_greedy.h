// Lists of F, I and W by list scheduling: whatever can start first does, gradients before forwards
// before weight gradients. Where memory holds less than a pipeline's depth it does better than the
// rounds of ZbHeuristic, in which the stages go in lockstep.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/schedules/automatic_input.h"
#include "simulator/schedules/split_lists.h"
#include "simulator/schedules/stage_costs.h"

namespace penstock {

// How many micro-batches a stage may have in flight, from F to I.
enum class InFlight {
  kAsMemoryAllows,
  kAsNeeded,  // what keeps the slowest stage busy: the rest of the memory is for pending W
};

class ZbGreedy {
 public:
  ZbGreedy(const StageCosts& costs, int micro_batches, Shortest shortest);

  // The span (or makespan) of the lists; nothing when it is not shorter than `best`. Every limit
  // must admit one forward.
  std::optional<Duration> run(InFlight in_flight, std::span<const std::int64_t> limits,
                              Duration best);
  // Of the last run that returned something.
  [[nodiscard]] const SplitLists& lists() const { return lists_; }

 private:
  // What a stage would do next and when.
  struct Offer {
    Duration at = Duration::max();
    ActionKind kind = ActionKind::kForward;
    int order = 0;  // of equal times the smaller goes first

    [[nodiscard]] bool before(const Offer& other) const {
      return at != other.at ? at < other.at : order < other.order;
    }
  };

  struct Stage : PipelineStage {
    Duration* forward_ends = nullptr;
    Duration* input_ends = nullptr;

    Duration clock{0};
    Duration idle{0};  // after the first forward
    Duration
        charged;  // work of the whole step and, for the makespan, the wait for the first forward
    std::int64_t limit = 0, memory = 0;
    int forwards = 0, inputs = 0, weights = 0;
    int most_in_flight = 0;
    SplitStep* next = nullptr;
  };

  void reset(std::span<const std::int64_t> limits);
  void cap(InFlight in_flight);
  [[nodiscard]] Offer offer(std::size_t j) const;
  [[nodiscard]] Offer forward_offer(std::size_t j) const;
  [[nodiscard]] Offer input_offer(std::size_t j) const;
  void renew_offer(std::size_t j);
  void put(std::size_t j, const Offer& offer);
  void wait(Stage& stage, Duration until);

  int micro_batches_;
  Shortest shortest_;
  std::vector<Stage> stages_;
  std::vector<Duration> forward_ends_, input_ends_;
  SplitLists lists_;
  Duration best_{0};
  bool lost_ = false;

  // A tournament: leaf j is stage j's offer, each inner node the stage whose offer goes first.
  std::size_t leaves_ = 1;
  std::vector<Offer> offers_;
  std::vector<std::size_t> first_;
};

}  // namespace penstock
