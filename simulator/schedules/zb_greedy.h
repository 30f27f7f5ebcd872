// Lists of F, I and W by list scheduling: whatever can start first does, gradients before forwards
// before weight gradients; for one stage per rank, or two on the V. Where memory holds less than a
// pipeline's depth it does better than the rounds of ZbHeuristic, in which the stages go in
// lockstep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
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

struct GreedyVariant {
  InFlight in_flight = InFlight::kAsMemoryAllows;
  bool patient = false;  // a forward waits a little for a gradient, or for a later stage's forward
};

class ZbGreedy {
 public:
  // One limit per rank, and one or two stages.
  ZbGreedy(const StageCosts& costs, int micro_batches, Shortest shortest);

  // The span (or makespan) of the lists; nothing when it is not shorter than `best`, or when the
  // variant comes out as a simpler one. A run that would go as one before is spared: most rungs of
  // a ladder differ only in limits that nothing reaches. Every limit must admit one forward of each
  // of its stages.
  std::optional<Duration> run(const GreedyVariant& variant, std::span<const std::int64_t> limits,
                              Duration best);
  // Of the last run that returned something.
  [[nodiscard]] const SplitLists& lists() const { return lists_; }
  // No lists within the limits are shorter: the work, and the memory that all micro-batches occupy.
  [[nodiscard]] Duration lower_bound(std::span<const std::int64_t> limits) const;

 private:
  // What a rank would do next and when.
  struct Offer {
    Duration at = Duration::max();
    ActionKind kind = ActionKind::kForward;
    std::uint8_t chunk = 0;
    int order = 0;  // of equal times the smaller goes first

    bool operator==(const Offer&) const = default;
    [[nodiscard]] bool before(const Offer& other) const {
      return at != other.at ? at < other.at : order < other.order;
    }
  };

  struct Stage : PipelineStage {
    Duration* forward_ends = nullptr;
    Duration* input_ends = nullptr;
    int forwards = 0, inputs = 0;
    int most_in_flight = 0;
  };

  // The limits of a rank with which a run goes as it does, so far: what they had room for, and what
  // they had not.
  struct LimitsAlike {
    std::int64_t least = 0, below = std::numeric_limits<std::int64_t>::max();
  };

  // What a run depends on, of one that was not shorter than `best`.
  struct Lost {
    bool patient = false;
    std::vector<int> most_in_flight;  // by stage
    std::vector<LimitsAlike> limits;  // by rank
    Duration best{0};
  };

  struct Rank {
    Duration work{0};  // of one micro-batch
    Duration clock{0};
    Duration idle{0};  // after the first forward
    Duration
        charged;  // work of the whole step and, for the makespan, the wait for the first forward
    std::int64_t limit = 0, memory = 0;
    LimitsAlike alike;
    std::vector<std::uint8_t> inputs;  // chunks of the I so far, in order: W follow in the same
    std::size_t weights = 0;
    bool begun = false;
    SplitStep* next = nullptr;

    [[nodiscard]] bool pending() const { return weights < inputs.size(); }
  };

  [[nodiscard]] std::size_t stage_of(std::size_t rank, std::size_t chunk) const {
    return chunk == 0 ? rank : stages_.size() - 1 - rank;
  }
  [[nodiscard]] std::size_t rank_of(std::size_t stage) const {
    return stage < ranks_.size() ? stage : stages_.size() - 1 - stage;
  }
  void reset(std::span<const std::int64_t> limits);
  bool cap(InFlight in_flight);
  bool cap_stages(InFlight in_flight);
  bool cap_in_proportion(InFlight in_flight);
  void cap_in_proportion(int at_first);
  [[nodiscard]] bool stays_within_limits() const;
  static bool has_room(Rank& rank, std::int64_t more);
  [[nodiscard]] bool is_known_to_lose() const;
  [[nodiscard]] bool is_as(const Lost& known) const;
  void note_lost(Duration best);
  [[nodiscard]] Offer offer(std::size_t rank);
  [[nodiscard]] Offer first_wanted(std::size_t rank);
  [[nodiscard]] Offer forward_offer(std::size_t rank, std::size_t chunk);
  [[nodiscard]] Offer input_offer(std::size_t rank, std::size_t chunk) const;
  void renew_offer(std::size_t rank);
  void put(std::size_t rank, const Offer& offer);
  void wait(Rank& rank, Duration until);

  std::size_t chunks_;
  int micro_batches_;
  Shortest shortest_;
  std::vector<Stage> stages_;
  std::vector<Rank> ranks_;
  std::vector<Duration> forward_ends_, input_ends_;
  SplitLists lists_;
  Duration best_{0};
  bool patient_ = false, lost_ = false;
  std::vector<Lost> known_to_lose_;

  // A tournament: leaf r is rank r's offer, each inner node the rank whose offer goes first.
  std::size_t leaves_ = 1;
  std::vector<Offer> offers_;
  std::vector<std::size_t> first_;
};

}  // namespace penstock
