// Turns a pattern of slots on the V, repeated for every micro-batch, into lists without needless
// gaps (arXiv 2405.15362; rules in docs/schedules.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/schedule.h"

namespace penstock {

// The way of a micro-batch: F down the V, F up, I down, I up again. A rank takes part in each leg
// once: in the first and the last with its first stage, in the others with its second.
inline constexpr int kLegs = 4;
// Slots from one micro-batch to the next: one for each leg and each of the two W.
inline constexpr int kPeriod = 6;

// Slot of every leg of micro-batch 0 on one rank; no two equal modulo the period.
using LegSlots = std::array<int, kLegs>;

class VSqueeze {
 public:
  VSqueeze(const std::vector<LegSlots>& pattern, int micro_batches);

  // Warm-up and drain move ahead as far as dependencies and the pattern's memory allow: first with
  // every W in a slot of its own, then only the drain, with each W where there is room.
  std::vector<std::vector<ComputeAction>> lists();

 private:
  static constexpr int kEmpty = -1;
  enum class Weights { kPlaced, kInGaps };

  // Ops are numbered leg * micro_batches_ + micro-batch; behind them come the W of both stages.
  struct Rank {
    std::vector<int> ops;             // by slot
    std::vector<int> slots;           // by op; of the legs only
    std::vector<int> gradient_slots;  // of all I, ascending
    std::vector<std::uint16_t> held;  // by slot: activations; about as many as ranks at most
    std::vector<int> pending;         // by slot: I without their W
    std::vector<int> gaps;            // by slot: it or one behind it is the first gap from it on
    int last_weight_slot = -1;
  };
  // What a rank has after a slot.
  struct Counts {
    int held = 0, pending = 0;
  };

  // An op is met in the order of slots, in one slot in the order of ranks.
  struct Place {
    int slot = 0;
    std::size_t rank = 0;
    auto operator<=>(const Place&) const = default;
  };

  void squeeze(Weights weights);
  void squeeze_between(Place from, Place end, Weights weights);
  void find_gaps(Place from);
  [[nodiscard]] Place first_of_drain(int steady_from) const;
  [[nodiscard]] int last_weight_before(std::size_t rank, Place end) const;
  void place_weights();
  void compact();
  void count(Rank& rank, Weights weights);
  [[nodiscard]] Counts after(Counts before, int op, Weights weights) const;
  [[nodiscard]] int earliest(std::size_t rank, int op) const;
  void move_ahead(Rank& rank, int from, int earliest, Weights weights);
  [[nodiscard]] int first_gap(Rank& rank, int from, int earliest) const;
  void hold_from(Rank& rank, int from, int to);
  bool fits(Rank& rank, int from, int to);
  void move(Rank& rank, int from, int to);
  [[nodiscard]] std::vector<ComputeAction> list_of(std::size_t rank) const;

  // Divisions would be a third of the work.
  [[nodiscard]] int leg_of(int op) const {
    return (op >= micro_batches_ ? 1 : 0) + (op >= 2 * micro_batches_ ? 1 : 0) +
           (op >= 3 * micro_batches_ ? 1 : 0) + (op >= kLegs * micro_batches_ ? 1 : 0);
  }
  [[nodiscard]] int micro_batch_of(int op) const { return op - leg_of(op) * micro_batches_; }
  [[nodiscard]] bool is_weight(int op) const { return op >= kLegs * micro_batches_; }
  [[nodiscard]] bool is_forward(int op) const { return op < 2 * micro_batches_; }
  [[nodiscard]] std::size_t neighbour(std::size_t rank, int leg) const;

  int micro_batches_;
  std::vector<Rank> ranks_;
  std::size_t length_ = 0;  // slots in use by any rank
  int limit_ = 0;
  std::vector<Counts> counts_;  // of a move that is tried
};

}  // namespace penstock
