// The earliest of many times, of which a few change at every event. Times lie in blocks that know
// their own earliest, so that neither a change nor a question looks at all of them. Private to
// multi/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/values/units.h"

namespace penstock {

class Earliest {
 public:
  explicit Earliest(std::size_t count)
      : times_((count + kBlock - 1) / kBlock * kBlock, kNever), blocks_(times_.size() / kBlock) {
    std::fill(blocks_.begin(), blocks_.end(), kNever);
  }

  void set(std::size_t i, Duration time) {
    times_[i] = time;
    const auto first = times_.begin() + static_cast<std::ptrdiff_t>(i / kBlock * kBlock);
    blocks_[i / kBlock] = *std::min_element(first, first + static_cast<std::ptrdiff_t>(kBlock));
  }
  void clear(std::size_t i) { set(i, kNever); }

  // Nothing where none is set.
  [[nodiscard]] std::optional<Duration> time() const {
    Duration least = kNever;
    for (const Duration block : blocks_) least = std::min(least, block);
    return least == kNever ? std::nullopt : std::optional(least);
  }

  // The first of `from`, `from + 1`, ... that is at `time` or before.
  [[nodiscard]] std::optional<std::size_t> first_until(Duration time, std::size_t from = 0) const {
    for (std::size_t i = from; i < times_.size();) {
      if (blocks_[i / kBlock] > time) {
        i = (i / kBlock + 1) * kBlock;
      } else if (times_[i] <= time) {
        return i;
      } else {
        ++i;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kBlock = 8;
  static constexpr Duration kNever = Duration::max();

  std::vector<Duration> times_, blocks_;
};

}  // namespace penstock
