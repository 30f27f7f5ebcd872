// When the activations or gradients of one boundary arrive at a stage. Stretches that a jump went
// over are not stored: there each arrival is the one a period earlier plus a constant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

// One boundary. Micro-batches are counted in the direction in which they are sent: `place` 0 is the
// first of the copy, or the last where they run downwards.
class Arrivals {
 public:
  // What a jump left out: per residue modulo `period` the `count` places that follow `latest`, at a
  // distance of `period` each, every one `slope` later than the one before.
  struct Skipped {
    static constexpr std::int64_t kNever = std::int64_t{1} << 62;
    std::int64_t period = 1, count = 0;
    std::vector<std::int64_t> latest;  // [place mod period]: the last that is stored, or kNever
    std::vector<std::int64_t> slope;   // likewise

    [[nodiscard]] std::int64_t slope_of(std::int64_t place) const {
      return slope[static_cast<std::size_t>(place % period)];
    }
    // How many periods behind its latest the place lies: beyond `count` it is stored again.
    [[nodiscard]] std::int64_t periods_behind(std::int64_t place) const {
      return (place - latest[static_cast<std::size_t>(place % period)]) / period;
    }
  };

  void set(std::int64_t place, std::int64_t time) {
    const auto at = static_cast<std::size_t>(place - left_out_before(place));
    if (at >= times_.size()) times_.resize(std::max({at + 1, 2 * times_.size(), kFirst}), 0);
    times_[at] = time + 1;
  }
  // Negative while it has not arrived.
  [[nodiscard]] std::int64_t get(std::int64_t place) const {
    if (place > first_skipped_ && place <= last_skipped_) return get_around_skipped(place);
    return stored(place - (place <= first_skipped_ ? 0 : left_out_));
  }

  void skip(Skipped part) {
    for (const std::int64_t latest : part.latest) {
      if (latest == Skipped::kNever) continue;
      first_skipped_ = std::min(first_skipped_, latest);
      last_skipped_ = std::max(last_skipped_, latest + part.count * part.period);
    }
    left_out_ += part.count * part.period;
    skipped_.push_back(std::move(part));
  }
  [[nodiscard]] const std::vector<Skipped>& skipped() const { return skipped_; }

 private:
  // Times are stored plus one: zero is "not yet".
  [[nodiscard]] std::int64_t stored(std::int64_t at) const {
    const auto index = static_cast<std::size_t>(at);
    return index < times_.size() ? times_[index] - 1 : -1;
  }
  [[nodiscard]] std::int64_t left_out_before(std::int64_t place) const {
    if (place <= first_skipped_) return 0;
    if (place > last_skipped_) return left_out_;
    std::int64_t left_out = 0;
    for (const Skipped& part : skipped_) {
      if (part.periods_behind(place) > part.count) left_out += part.count * part.period;
    }
    return left_out;
  }
  [[nodiscard]] std::int64_t get_around_skipped(std::int64_t place) const {
    for (const Skipped& part : skipped_) {
      const std::int64_t periods = part.periods_behind(place);
      if (periods < 1 || periods > part.count) continue;
      return get(place - periods * part.period) + periods * part.slope_of(place);
    }
    return stored(place - left_out_before(place));
  }

  static constexpr std::size_t kFirst = 128;  // stored at first

  std::vector<std::int64_t> times_;
  std::vector<Skipped> skipped_;
  // All skipped places lie behind the first and up to the last.
  std::int64_t first_skipped_ = Skipped::kNever, last_skipped_ = -1, left_out_ = 0;
};

}  // namespace penstock
