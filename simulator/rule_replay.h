// Replays one pipeline under Varuna's rules (docs/schedules.md, "Varuna") on its schedule, without
// a Program: per rank a few counters, and when what it waits for arrives. What it gives is what
// simulate_by_events() gives for the Program.
//
// No event queue is needed. A rank looks at what has arrived when it is free. Compute takes time,
// so whatever a neighbour starts from now on arrives later than now by that much at least: until
// then the rank knows all that it can see, and runs ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"
#include "simulator/liveness.h"
#include "simulator/price_table.h"
#include "simulator/rolled_replay.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

class RuleReplay {
 public:
  // Of a schedule that has_varuna_order(). `program` holds the pipeline's stages and one
  // micro-batch per run. Keeps the schedule and `arrivals` by reference.
  RuleReplay(const Schedule& schedule, const std::vector<MicroBatchRun>& runs,
             const Program& program, std::size_t pipeline, const PriceTable& prices, bool transfers,
             std::vector<std::int64_t>& arrivals);

  // Forwards and backwards that take no time may start together: then their order in a Program
  // decides, which is not known here.
  [[nodiscard]] bool can_run() const { return all_take_time_; }
  // False when ranks wait for each other.
  [[nodiscard]] bool run();

  // After run().
  [[nodiscard]] PipelineTimes times() const;
  [[nodiscard]] std::vector<RankLiveness> held() const;
  // Before run(): what every rank's activations take. Then what it held of them at most.
  void set_stash(const std::vector<MicroBatchRun>& runs, const StagePrices& prices);
  [[nodiscard]] std::vector<Bytes> most_stash() const;
  // Compute actions of all ranks.
  [[nodiscard]] std::int64_t actions() const;

 private:
  using Time = std::int64_t;
  using Count = std::uint32_t;

  struct Costs {
    Time forward = 0, recompute = 0, backward = 0;
    Time activation_delay = 0, gradient_delay = 0;  // until what it sends arrives
    std::int64_t stash = 0;                         // bytes
  };
  // Receives of one kind: how many have arrived, and how many waited at most.
  struct Receives {
    const Time* arrival = nullptr;  // by micro-batch, of those that were sent
    std::size_t first_run = 0;      // of which some have not arrived
    std::vector<Count> in_run;      // [run]: the next to arrive
    Count arrived = 0, most = 0;
  };
  struct Rank {
    Time next = 0;        // when it looks; kUnknown while it waits for what was not sent yet
    Time not_before = 0;  // it starts nothing before
    Time soonest_activation = 0, soonest_gradient = 0;  // from a start until what it makes arrives
    Count forwards = 0, backwards = 0;                  // started
    Count due = 0;                 // forwards that its list has before the next backward
    bool forward_is_next = false;  // one was moved to the front, for good
    bool recomputed = false;       // the next backward's recompute ran before its gradient came
    bool waits_for_activation = false, waits_for_gradient = false;
    std::size_t forward_run = 0, backward_run = 0;
    const Costs* costs = nullptr;  // [run]
    Time* activations = nullptr;   // by micro-batch: when it arrives here
    Time* gradients = nullptr;
    Receives from_before, from_behind;
    Time backward_start = -1;  // of the last one, while its gradient's receive is not counted
    Time first = -1, last = 0, busy = 0;
    Count peak = 0;
    std::int64_t stash = 0, most_stash = 0;  // bytes, where stashes_differ_
  };

  void set_costs(const Program& program, std::size_t pipeline, const PriceTable& prices,
                 bool transfers);
  void run_ahead(std::size_t r, Time now);
  [[nodiscard]] Time knows_until(std::size_t r, Time now) const;
  void look(std::size_t r);
  void look_on_last(std::size_t r);
  void forward(std::size_t r);
  void backward(std::size_t r, Time start);
  void wait(std::size_t r, bool for_activation, bool for_gradient);
  void find_next(std::size_t r);
  void count_receive(Receives& receives, Count sent, Count consumed, Time now) const;
  void count_gradient(std::size_t r);

  [[nodiscard]] bool is_last(std::size_t r) const { return r == last_; }
  // Of its next forward, of its next backward: kUnknown while they were not sent.
  [[nodiscard]] Time activation_of(std::size_t r) const {
    const Rank& rank = ranks_[r];
    if (r == 0) return 0;
    return rank.forwards < ranks_[r - 1].forwards ? rank.activations[rank.forwards] : kUnknown;
  }
  [[nodiscard]] Time gradient_of(std::size_t r) const {
    const Rank& rank = ranks_[r];
    return rank.backwards < ranks_[r + 1].backwards ? rank.gradients[rank.backwards] : kUnknown;
  }

  // PriceTable::check_sum() keeps all times far below.
  static constexpr Time kUnknown = INT64_MAX / 2;
  static constexpr Time kDone = INT64_MAX / 4 * 3;

  const Schedule& schedule_;
  std::vector<Count> run_end_;  // cumulated
  std::vector<Costs> costs_;    // [rank][run]
  std::vector<Rank> ranks_;
  std::size_t last_;  // of ranks_: asked at every turn
  Count micro_batches_;
  bool transfers_;
  bool all_take_time_ = true;
  bool stashes_differ_ = false;  // of one rank: else the most is what it held in number
};

}  // namespace penstock
