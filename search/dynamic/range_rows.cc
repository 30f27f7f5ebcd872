// A row begins at a sample and grows sample by sample with the longest lengths so far. Along
// descending lengths of one kind a range is padded to its first sample, so that all that begin at
// equal rounded lengths share the row of the first of them. Shapes are asked for in parts, since a
// row ends where the memory of a device does, which only the costs know: first about as many tokens
// as the row before had room for.
#include "search/dynamic/range_rows.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kFirstPart = 8, kLeastPart = 2;
constexpr std::size_t kPartsOfRow = 8;

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
    const std::size_t begin = rows_.shape.size();
    std::size_t part = likely_end(fed(first));
    while (end < order_.size()) {
      std::vector<MicroBatchShape> asked;
      const std::size_t stop = std::min(order_.size(), end + part);
      for (; end < stop; ++end) {
        longest = longest_of(longest, fed(end));
        asked.push_back(padded_shape(static_cast<int>(end - first + 1), longest, rounding_));
      }
      const std::vector<int> ids = shapes_.ids_of(asked);
      rows_.shape.insert(rows_.shape.end(), ids.begin(), ids.end());
      if (shapes_.costs().bytes_grow_with_samples() && !fits(ids.back())) break;
      part = std::max(kLeastPart, (end - first) / kPartsOfRow);
    }
    remember(fed(first), begin);
    rows_.begin.push_back(rows_.shape.size());
  }

  // As many tokens as fitted into the row before.
  [[nodiscard]] std::size_t likely_end(const SampleLength& first) const {
    if (tokens_before_ == 0) return kFirstPart;
    return std::max<std::size_t>(1, tokens_before_ / tokens_of(first)) + 1;
  }
  void remember(const SampleLength& first, std::size_t begin) {
    std::size_t fitting = 0;
    while (begin + fitting < rows_.shape.size() && fits(rows_.shape[begin + fitting])) ++fitting;
    tokens_before_ = fitting * tokens_of(first);
  }
  static std::size_t tokens_of(const SampleLength& fed) {
    return static_cast<std::size_t>(std::max(1, fed.tokens + fed.decoder_tokens));
  }

  [[nodiscard]] bool fits(int id) const {
    const KnownShape& shape = shapes_.at(id);
    return shape.status == ShapeStatus::kKnown && shape.need[0] <= shapes_.limit();
  }

  const LengthBatch& batch_;
  const std::vector<int>& order_;
  const LengthRounding& rounding_;
  ShapeTable& shapes_;
  std::size_t tokens_before_ = 0;  // that fitted into the last row; 0: none is known
  RangeRows rows_;
};

bool may_run(const KnownShape& shape, HeldAtOnce held, std::int64_t limit) {
  return shape.status == ShapeStatus::kKnown && shape.need[static_cast<std::size_t>(held)] <= limit;
}

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
      const bool fits = may_run(shape, held, limit);
      times.time.push_back(fits ? shape.time_ns : kInfeasible);
      if (fits) last = times.time.size();
    }
    times.time.resize(last);
    times.begin.push_back(last);
  }
  return times;
}

bool is_within(const Split& split, const RangeRows& rows, const ShapeTable& shapes, HeldAtOnce held,
               std::int64_t limit) {
  std::size_t first = 0;
  return std::all_of(split.ends.begin(), split.ends.end(), [&](std::size_t end) {
    const std::size_t at = rows.begin[rows.row_of[first]] + (end - first - 1);
    first = end;
    return may_run(shapes.at(rows.shape[at]), held, limit);
  });
}

}  // namespace penstock
