// StagePrices laid out for replay: one duration per (kind, stage, shape), the executor's fixed
// costs included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/durations.h"
#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"

namespace penstock {

class PriceTable {
 public:
  // Error{kBadInput} when the prices do not cover the Program's stages and shapes, or when the sum
  // of all durations could leave 64 bits.
  PriceTable(const Program& program, const StagePrices& prices, const ExecutorModel& executor);

  [[nodiscard]] Duration of(const Action& action) const { return entries_[entry_of(action)]; }
  [[nodiscard]] Duration of_collective(const Action& action) const {
    return entries_[entry_of_collective(action)];
  }
  // Both members of OVERLAP(F;B) together.
  [[nodiscard]] Duration of_overlap(const Action& forward, const Action& backward) const {
    return overlapped(forward, of(forward), of(backward));
  }
  // The same from durations of this execution.
  [[nodiscard]] Duration overlapped(const Action& forward, Duration one, Duration other) const {
    return penstock::overlapped(one, other, entries_[entry_of_gain(forward)]);
  }

  // Where those stand in entries(): the same places for all prices of as many shapes.
  [[nodiscard]] std::size_t entry_of(const Action& action) const {
    return static_cast<std::size_t>(action.kind) * stride_ + index_of(action);
  }
  [[nodiscard]] std::size_t entry_of_collective(const Action& action) const {
    return action.kind == ActionKind::kTiedReduce ? first_tied() + action.group.value
                                                  : entry_of(action);
  }
  [[nodiscard]] std::size_t entry_of_gain(const Action& forward) const {
    return first_gain() + index_of(forward);
  }
  [[nodiscard]] std::span<const Duration> entries() const { return entries_; }

  // Error{kBadInput} when this many actions could take longer than 64 bits hold. The constructor
  // has asked for those of the Program.
  void check_sum(std::size_t actions) const;
  // What action `index` takes together with those that share its task: the members of a collective,
  // the other member of an OVERLAP whose first it is.
  [[nodiscard]] Duration of_task(const Program& program, std::uint32_t index) const {
    const Action& action = program.actions[index];
    if (is_collective(action.kind)) return of_collective(action);
    return action.overlaps_next ? of_overlap(action, program.actions[index + 1]) : of(action);
  }

 private:
  [[nodiscard]] std::size_t index_of(const Action& action) const {
    const std::uint32_t shape = one_shape_ ? 0 : shape_of(action);
    return std::size_t{action.stage.value} * shapes_ + shape;
  }
  [[nodiscard]] std::uint32_t shape_of(const Action& action) const {
    return action.micro_batch == kNoMicroBatch ? 0
                                               : shape_of_micro_batch_[action.micro_batch.value];
  }
  [[nodiscard]] std::size_t first_gain() const {
    return stride_ * static_cast<std::size_t>(kActionKinds);
  }
  [[nodiscard]] std::size_t first_tied() const { return first_gain() + stride_; }

  bool one_shape_;
  std::size_t shapes_, stride_;
  // [kind][stage][shape]; what overlapping a forward gains, [stage][shape]; then by group, 0 where
  // it is not a tied group.
  std::vector<Duration> entries_;
  std::vector<std::uint16_t> shape_of_micro_batch_;
};

}  // namespace penstock
