// From an order of samples to micro-batches: by an exact split, or by the rules that are compared
// with it. All go through the same rounding, shapes and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "search/dynamic/length_batch.h"
#include "search/dynamic/shape_table.h"

namespace penstock {

struct FormedMicroBatch {
  std::vector<std::vector<int>> rows;  // samples; one per row unless they are packed
  int shape = 0;                       // id of the table
  bool operator==(const FormedMicroBatch&) const = default;
};

struct FormedBatch {
  std::vector<FormedMicroBatch> micro_batches;
  double objective_ns = 0.0, longest_ns = 0.0;
  bool operator==(const FormedBatch&) const = default;
};

// What every way to form them needs.
struct FormingInput {
  const LengthBatch& batch;
  const LengthRounding& rounding;
  ShapeTable& shapes;
};

// First-fit: every sample into the first row that still has room, with separators in between.
struct RowCapacity {
  int tokens = 0;          // fed
  int decoder_tokens = 0;  // of targets, without what is added to them
};
std::vector<std::vector<int>> first_fit(const FormingInput& input, const std::vector<int>& samples,
                                        const RowCapacity& capacity);

// One sample per row. `ends`: exclusive, ascending, of the last one the number of samples.
std::vector<FormedMicroBatch> cut_at(const FormingInput& input, const std::vector<int>& order,
                                     const std::vector<std::size_t>& ends);
// Closed before the rounded tokens of its samples come to more than `tokens`.
std::vector<std::size_t> ends_by_tokens(const FormingInput& input, const std::vector<int>& order,
                                        std::int64_t tokens);
std::vector<std::size_t> ends_by_size(std::size_t samples, std::size_t size);
// Rows as long as the longest sample of the batch, filled by first-fit, so many per micro-batch.
std::vector<FormedMicroBatch> packed(const FormingInput& input, const std::vector<int>& order,
                                     std::size_t rows);

// Every micro-batch whose samples fit into fewer rows of its lengths and then takes less time.
void pack_within(const FormingInput& input, std::vector<FormedMicroBatch>& micro_batches);

// Halves the longest that can be divided until there are so many. False when samples are too few.
bool divide_until(const FormingInput& input, std::size_t count,
                  std::vector<FormedMicroBatch>& micro_batches);

}  // namespace penstock
