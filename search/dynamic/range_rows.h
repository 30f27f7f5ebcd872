// The shapes of all ranges of an order of samples that may be one micro-batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/dynamic/length_batch.h"
#include "search/dynamic/shape_table.h"
#include "search/dynamic/split_exactly.h"

namespace penstock {

struct RangeRows {
  std::vector<std::uint32_t> row_of;  // as in RangeTimes
  std::vector<std::size_t> begin;
  std::vector<int> shape;  // ids of the table, by number of samples - 1
};

// Every range that one device can hold at all by the table's limit, and a few that it cannot.
RangeRows range_rows(const LengthBatch& batch, const std::vector<int>& order,
                     const LengthRounding& rounding, ShapeTable& shapes);

// Of these the ranges that fit into `limit` when so many micro-batches are held at once.
RangeTimes times_within(const RangeRows& rows, const ShapeTable& shapes, HeldAtOnce held,
                        std::int64_t limit);

// Whether all ranges of this split are among those.
bool is_within(const Split& split, const RangeRows& rows, const ShapeTable& shapes, HeldAtOnce held,
               std::int64_t limit);

}  // namespace penstock
