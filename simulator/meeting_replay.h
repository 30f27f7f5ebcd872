// Replays rolled-up lists of ranks that meet (meeting_lists.h). The state of such a step is a place
// in each list and a clock per rank: where all places come again and all clocks are later by one
// and the same time, what follows is the same, later, and whole periods are jumped over.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "simulator/meeting_lists.h"
#include "simulator/price_table.h"
#include "simulator/rolled_replay.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

class MeetingReplay {
 public:
  // `tables`: stages, ranks and micro-batches of every shape.
  MeetingReplay(const MeetingLists& lists, const Program& tables, const PriceTable& prices);

  // False when transfers wait for each other for ever.
  [[nodiscard]] bool run();
  // Of every pipeline.
  [[nodiscard]] std::vector<PipelineTimes> times() const;

  bool jumps = true;  // off: the plain replay, for comparison
  ReplayWork work;

 private:
  static constexpr std::uint32_t kNotWaiting = 0xFFFF'FFFFU;
  struct Rank {
    std::int64_t now = 0, first = -1;
    std::size_t block = 0, end = 0;  // of MeetingLists::blocks
    std::uint32_t at = 0;            // step
    std::int64_t repetition = 0, goal = 0;
    std::uint32_t waits_in = kNotWaiting;  // channel
    std::int64_t completed = 0;            // gradients, so far; jumps count none
    [[nodiscard]] bool done() const { return block == end; }
    [[nodiscard]] bool is_where(const Rank& other) const {
      return block == other.block && at == other.at && waits_in == other.waits_in;
    }
  };

  bool round();
  void run_to_goal(std::uint32_t index);
  bool run_repetition(Rank& rank);
  void next_repetition(Rank& rank);
  void look_for_period();
  bool jump_over_periods();
  [[nodiscard]] std::int64_t busy_of(std::size_t rank) const;

  const MeetingLists& lists_;
  const Program& tables_;
  std::vector<std::int64_t> durations_;  // by MeetingLists::Step::cost
  std::vector<Rank> ranks_;
  std::vector<PipelineTimes::Stage> last_;  // by stage
  std::vector<std::uint32_t> woken_;
  // The ranks as they were some rounds ago, and how many rounds the next will be kept.
  std::vector<Rank> before_;
  std::int64_t age_ = 0, kept_for_ = 1;
};

}  // namespace penstock
