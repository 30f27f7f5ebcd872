// A row begins at a sample and grows sample by sample with the longest lengths so far. Along
// descending lengths of one kind a range is padded to its first sample, so that all that begin at
// equal rounded lengths share the row of the first of them. Shapes are asked for in growing parts,
// since a row ends where the memory of a device does, which only the costs know.
#include "search/dynamic/range_rows.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kFirstPart = 8;

class RowBuilder {
 public:
  RowBuilder(const LengthBatch& batch, const std::vector<int>& order,
             const LengthRounding& rounding, ShapeTable& shapes)
      : batch_(batch), order_(order), rounding_(rounding), shapes_(shapes) {}

  RangeRows build() {
    const bool shares = falls();
    rows_.begin.push_back(0);
    int length_before = -1;
    for (std::size_t first = 0; first < order_.size(); ++first) {
      const int length = padded_shape(1, fed(first), rounding_).tokens;
      if (!shares || length != length_before) add_row(first);
      length_before = length;
      rows_.row_of.push_back(static_cast<std::uint32_t>(rows_.begin.size() - 2));
    }
    return std::move(rows_);
  }

 private:
  [[nodiscard]] const SampleLength& sample(std::size_t at) const {
    return batch_[static_cast<std::size_t>(order_[at])];
  }
  [[nodiscard]] SampleLength fed(std::size_t at) const { return fed_of(sample(at), rounding_); }
  // Whether the first sample of every range is its longest.
  [[nodiscard]] bool falls() const {
    for (std::size_t at = 0; at < order_.size(); ++at) {
      if (sample(at).decoder_tokens > 0) return false;
      if (at > 0 && sample(at).tokens > sample(at - 1).tokens) return false;
    }
    return true;
  }

  void add_row(std::size_t first) {
    SampleLength longest;
    std::size_t end = first;
    for (std::size_t part = kFirstPart; end < order_.size(); part *= 2) {
      std::vector<MicroBatchShape> asked;
      const std::size_t stop = std::min(order_.size(), end + part);
      for (; end < stop; ++end) {
        longest = longest_of(longest, fed(end));
        asked.push_back(padded_shape(static_cast<int>(end - first + 1), longest, rounding_));
      }
      const std::vector<int> ids = shapes_.ids_of(asked);
      rows_.shape.insert(rows_.shape.end(), ids.begin(), ids.end());
      if (shapes_.costs().bytes_grow_with_samples() && !fits(ids.back())) break;
    }
    rows_.begin.push_back(rows_.shape.size());
  }

  [[nodiscard]] bool fits(int id) const {
    const KnownShape& shape = shapes_.at(id);
    return shape.status == ShapeStatus::kKnown && shape.need[0] <= shapes_.limit();
  }

  const LengthBatch& batch_;
  const std::vector<int>& order_;
  const LengthRounding& rounding_;
  ShapeTable& shapes_;
  RangeRows rows_;
};

}  // namespace

RangeRows range_rows(const LengthBatch& batch, const std::vector<int>& order,
                     const LengthRounding& rounding, ShapeTable& shapes) {
  return RowBuilder(batch, order, rounding, shapes).build();
}

RangeTimes times_within(const RangeRows& rows, const ShapeTable& shapes, HeldAtOnce held,
                        std::int64_t limit) {
  RangeTimes times;
  times.row_of = rows.row_of;
  times.begin.push_back(0);
  for (std::size_t row = 0; row + 1 < rows.begin.size(); ++row) {
    std::size_t last = times.time.size();  // behind the last feasible range
    for (std::size_t at = rows.begin[row]; at < rows.begin[row + 1]; ++at) {
      const KnownShape& shape = shapes.at(rows.shape[at]);
      const bool fits = shape.status == ShapeStatus::kKnown &&
                        shape.need[static_cast<std::size_t>(held)] <= limit;
      times.time.push_back(fits ? shape.time_ns : kInfeasible);
      if (fits) last = times.time.size();
    }
    times.time.resize(last);
    times.begin.push_back(last);
  }
  return times;
}

}  // namespace penstock
