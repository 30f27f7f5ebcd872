// When activations and gradients arrive at their stages: one row per boundary between stages, one
// cell per micro-batch. Stretches that a jump went over are not stored: there each arrival is one
// of the window behind the jump, earlier by a multiple of what it grows by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

class Arrivals {
 public:
  // What a jump left out of a row: `count` windows of `period` places each, behind place `cut`. The
  // window that follows them is stored.
  struct Skipped {
    std::int64_t cut = 0, period = 1, count = 0;
    std::vector<std::int64_t> slopes;  // growth per window, [place mod size]; one when all alike

    [[nodiscard]] std::int64_t left_out() const { return count * period; }
    [[nodiscard]] std::int64_t last() const { return cut + left_out(); }
    [[nodiscard]] bool covers(std::int64_t place) const { return place > cut && place <= last(); }
    [[nodiscard]] std::int64_t slope_of(std::int64_t place) const {
      if (slopes.size() == 1) return slopes[0];
      return slopes[static_cast<std::size_t>(place) % slopes.size()];
    }
  };

  // `places`: how many a row has room for at first. What `cells` holds is overwritten.
  Arrivals(std::size_t rows, std::size_t places, std::vector<std::int64_t>& cells)
      : length_(padded(places)), cells_(cells), rows_(rows), parts_(rows) {
    cells_.assign(rows * length_, 0);
    for (std::size_t row = 0; row < rows; ++row) {
      rows_[row].begin = static_cast<std::int64_t>(row * length_);
      rows_[row].end = static_cast<std::int64_t>(length_);
    }
  }
  // Micro-batches are counted in the direction in which they are sent: place 0 is the first of the
  // copy, or the last where they run downwards.
  void orient(std::size_t row, std::int64_t origin, bool downwards) {
    rows_[row].sign = downwards ? -1 : 1;
    rows_[row].place_of_zero = -rows_[row].sign * origin;
  }

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::int64_t place_of(std::size_t row, std::int64_t micro_batch) const {
    return rows_[row].sign * micro_batch + rows_[row].place_of_zero;
  }
  [[nodiscard]] std::int64_t sign_of(std::size_t row) const { return rows_[row].sign; }
  // Negative while it has not arrived.
  [[nodiscard]] std::int64_t get(std::size_t row, std::int64_t place) const {
    const Row& own = rows_[row];
    if (place <= own.last_skipped) return get_before_landing(row, place);
    if (place >= own.end) return -1;
    return cells_[static_cast<std::size_t>(own.begin + place)] - 1;
  }
  // Cells by number, for those who look them up for many places at once. They stay where they are
  // until a jump, or until reserve() says that they have moved.
  struct Found {
    std::int64_t cell = 0;  // of the place
    std::int64_t room = 0;  // how many places, from this one on, follow cell by cell; 0: none
  };
  [[nodiscard]] Found find(std::size_t row, std::int64_t place) const {
    const Row& own = rows_[row];
    if (place <= own.last_skipped || place >= own.end) return {};
    return {own.begin + place, own.end - place};
  }
  // To be called before set() and await(); true when cells have moved.
  bool reserve(std::size_t row, std::int64_t place) {
    if (place < rows_[row].end) return false;
    lengthen(place - rows_[row].end + 1);
    return true;
  }
  [[nodiscard]] std::int64_t* cells() { return cells_.data(); }
  // Cells hold the time plus one; zero is "not yet", and
  static constexpr std::int64_t kAwaited = -1;

  // Whether somebody waits for it.
  bool set(std::size_t row, std::int64_t place, std::int64_t time) {
    std::int64_t& cell = cell_of(row, place);
    const bool awaited = cell == kAwaited;
    cell = time + 1;
    return awaited;
  }
  void await(std::size_t row, std::int64_t place) { cell_of(row, place) = kAwaited; }

  // The window behind `part.cut`, the last that is written, moves on by part.count windows, in
  // place and in time; the first `more` places of the next window follow.
  void skip(std::size_t row, Skipped part, std::int64_t more) {
    const std::int64_t written = part.cut + part.period;
    if (written + more >= rows_[row].end) lengthen(written + more - rows_[row].end + 1);
    std::int64_t* const cells = &cells_[static_cast<std::size_t>(rows_[row].begin + part.cut + 1)];
    for (std::int64_t i = 0; i < part.period; ++i) {
      cells[i] += part.count * part.slope_of(part.cut + 1 + i);
    }
    for (std::int64_t i = part.period; i < part.period + more; ++i) {
      cells[i] = cells[i - part.period] + part.slope_of(part.cut + 1 + i);
    }
    rows_[row].last_skipped = part.last();
    rows_[row].begin -= part.left_out();
    rows_[row].end += part.left_out();
    parts_[row].push_back(std::move(part));
  }
  // The part that covers a place; null when it is stored.
  [[nodiscard]] const Skipped* skipped(std::size_t row, std::int64_t place) const {
    if (place > rows_[row].last_skipped) return nullptr;
    for (const Skipped& part : parts_[row]) {
      if (part.covers(place)) return &part;
    }
    return nullptr;
  }

 private:
  struct Row {
    std::int64_t sign = 1, place_of_zero = 0;
    // Behind the last place that a jump covers, place p is cells_[begin + p], for p < end.
    std::int64_t last_skipped = -1, begin = 0, end = 0;
  };

  // An odd number of cache lines, so that equal places of many rows do not share few cache sets.
  static std::size_t padded(std::size_t places) { return (places + 15) / 16 * 16 + 8; }

  // Of a place that no jump covers and that there is room for.
  std::int64_t& cell_of(std::size_t row, std::int64_t place) {
    std::int64_t at = rows_[row].begin + place;
    if (place <= rows_[row].last_skipped) at += left_out_after(row, place);
    return cells_[static_cast<std::size_t>(at)];
  }
  [[nodiscard]] std::int64_t left_out_after(std::size_t row, std::int64_t place) const {
    std::int64_t left_out = 0;
    for (const Skipped& part : parts_[row]) {
      if (place <= part.cut) left_out += part.left_out();
    }
    return left_out;
  }
  [[nodiscard]] std::int64_t get_before_landing(std::size_t row, std::int64_t place) const {
    const std::int64_t begin = rows_[row].begin + left_out_after(row, place);
    const Skipped* part = skipped(row, place);
    if (part == nullptr) return cells_[static_cast<std::size_t>(begin + place)] - 1;
    const std::int64_t windows = (part->last() - place) / part->period + 1;
    const std::int64_t landed = place + windows * part->period;
    return cells_[static_cast<std::size_t>(begin + landed)] - 1 - windows * part->slope_of(place);
  }

  void lengthen(std::int64_t by) {
    const std::size_t length =
        padded(std::max(length_ + static_cast<std::size_t>(by), 2 * length_));
    cells_.resize(rows_.size() * length);
    for (std::size_t row = rows_.size(); row-- > 0;) {
      std::int64_t* const from = cells_.data() + row * length_;
      std::int64_t* const to = cells_.data() + row * length;
      if (row > 0) std::copy_backward(from, from + length_, to + length_);
      std::fill(to + length_, to + length, 0);
    }
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto longer = static_cast<std::int64_t>(length - length_);
      rows_[row].begin += static_cast<std::int64_t>(row) * longer;
      rows_[row].end += longer;
    }
    length_ = length;
  }

  std::size_t length_;  // of every row
  std::vector<std::int64_t>& cells_;
  std::vector<Row> rows_;
  std::vector<std::vector<Skipped>> parts_;  // [row], in ascending order
};

}  // namespace penstock
