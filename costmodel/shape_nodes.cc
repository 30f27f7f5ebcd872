#include "costmodel/shape_nodes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace penstock {
namespace {

// The entries at or around a key, one where it is met; nothing beyond the last.
template <class Entries>
std::optional<std::pair<typename Entries::const_iterator, typename Entries::const_iterator>> around(
    const Entries& entries, int key) {
  const auto high = entries.lower_bound(key);
  if (high == entries.end()) return {};
  const bool is_met = high->first == key || high == entries.begin();
  return std::pair(is_met ? high : std::prev(high), high);
}

}  // namespace

ShapeNodes::ShapeNodes(const SectionType& type, const std::string& device, int tensor_degree,
                       const std::string& recompute) {
  const auto is_of_key = [&](const auto& row) {
    return row.device == device && row.tensor_degree == tensor_degree && row.recompute == recompute;
  };
  for (const Measurement& m : type.measurements) {
    if (is_of_key(m)) {
      planes_[m.decoder_length][m.sequence_length].sizes.push_back(m.micro_batch_size);
    }
  }
  for (auto& [decoder_length, plane] : planes_) {
    for (auto& [length, row] : plane) std::sort(row.sizes.begin(), row.sizes.end());
  }
  for (const OutOfMemoryKey& key : type.out_of_memory) {
    if (!is_of_key(key)) continue;
    Row& row = planes_[key.decoder_length][key.sequence_length];
    if (!row.sizes.empty() && key.micro_batch_size < row.sizes.back()) continue;
    row.out_of_memory = row.out_of_memory == 0 ? key.micro_batch_size
                                               : std::min(row.out_of_memory, key.micro_batch_size);
  }
}

// Of sections that do not know it there is one plane.
int ShapeNodes::decoder_of(const MicroBatchShape& shape) const {
  return planes_.begin()->first > 0 ? shape.decoder_tokens : 0;
}

// Sizes beyond one that ran out of memory would do so, too.
ShapeNodes::Node ShapeNodes::below(const Row& row, int size) {
  if (row.out_of_memory > 0 && size >= row.out_of_memory) return Node::kOutOfMemory;
  return row.sizes.empty() ? Node::kUntried : Node::kMeasured;
}

ShapeNodes::Node ShapeNodes::above(const Row& row, int size) {
  if (!row.sizes.empty() && size <= row.sizes.back()) return Node::kMeasured;
  return row.out_of_memory > 0 ? Node::kOutOfMemory : Node::kUntried;
}

MicroBatchShape ShapeNodes::clamped(MicroBatchShape shape) const {
  if (planes_.empty()) return shape;
  const int least_decoder = planes_.begin()->first;
  if (least_decoder > 0) shape.decoder_tokens = std::max(shape.decoder_tokens, least_decoder);
  const auto planes = around(planes_, decoder_of(shape));
  if (!planes) return shape;
  for (const auto& plane : {planes->first, planes->second}) {
    shape.tokens = std::max(shape.tokens, plane->second.begin()->first);
  }
  for (const auto& plane : {planes->first, planes->second}) {
    const auto rows = around(plane->second, shape.tokens);
    if (!rows) continue;
    for (const auto& row : {rows->first, rows->second}) {
      const std::vector<int>& sizes = row->second.sizes;
      if (!sizes.empty()) shape.samples = std::max(shape.samples, sizes.front());
    }
  }
  return shape;
}

ShapeStatus ShapeNodes::status_of(const MicroBatchShape& shape) const {
  if (planes_.empty()) return ShapeStatus::kUntried;
  const auto planes = around(planes_, decoder_of(shape));
  if (!planes) return ShapeStatus::kUntried;
  bool is_least = true, is_known = true;
  for (const auto& plane : {planes->first, planes->second}) {
    const auto rows = around(plane->second, shape.tokens);
    if (!rows) return ShapeStatus::kUntried;
    for (const auto& row : {rows->first, rows->second}) {
      const Node low = below(row->second, shape.samples), high = above(row->second, shape.samples);
      if (is_least && low == Node::kOutOfMemory) return ShapeStatus::kOutOfMemory;
      is_least = false;
      is_known = is_known && low != Node::kUntried && high != Node::kUntried;
    }
  }
  return is_known ? ShapeStatus::kKnown : ShapeStatus::kUntried;
}

}  // namespace penstock
