// StagePrices laid out for replay: one duration per (kind, stage, shape), the executor's fixed
// costs included.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/executor_model.h"
#include "core/program.h"
#include "core/stage_prices.h"

namespace penstock {

class PriceTable {
 public:
  // Error{kBadInput} when the prices do not cover the Program's stages and shapes, or when the sum
  // of all durations could leave 64 bits.
  PriceTable(const Program& program, const StagePrices& prices, const ExecutorModel& executor);

  [[nodiscard]] Duration of(const Action& action) const {
    return table_[static_cast<std::size_t>(action.kind) * stride_ + index_of(action)];
  }
  [[nodiscard]] Duration of_collective(const Action& action) const;
  // Both members of OVERLAP(F;B) together.
  [[nodiscard]] Duration of_overlap(const Action& forward, const Action& backward) const {
    const Duration one = of(forward), other = of(backward);
    return std::max({one, other, one + other - gain_[index_of(forward)]});
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
  void check_sum(const Program& program) const;

  bool one_shape_;
  std::size_t shapes_, stride_;
  std::vector<Duration> table_;  // [kind][stage][shape]
  std::vector<Duration> gain_;   // of overlapping a forward; [stage][shape]
  std::vector<std::uint16_t> shape_of_micro_batch_;
  std::vector<Duration> tied_of_group_;  // by group; 0 where it is not a tied group
};

}  // namespace penstock
