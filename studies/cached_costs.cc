#include "studies/cached_costs.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace penstock {
namespace {

auto key_of(const MicroBatchShape& shape) {
  return std::tuple(shape.samples, shape.tokens, shape.decoder_tokens);
}

constexpr unsigned kBits = 21;  // of each number of a shape

std::uint64_t packed(const MicroBatchShape& shape) {
  const auto part = [](int number) { return static_cast<std::uint64_t>(number); };
  return (part(shape.samples) << 2 * kBits) | (part(shape.tokens) << kBits) |
         part(shape.decoder_tokens);
}

bool fits_packed(const MicroBatchShape& shape) {
  constexpr int kMost = 1 << kBits;
  return shape.samples < kMost && shape.tokens < kMost && shape.decoder_tokens < kMost;
}

}  // namespace

std::vector<ShapeCost> CachedCosts::costs_of(const std::vector<MicroBatchShape>& shapes) const {
  const std::lock_guard lock(mutex_);
  std::vector<MicroBatchShape> missing;
  for (const MicroBatchShape& shape : shapes) {
    // An empty entry holds the place of a shape that is asked for twice.
    if (known_.try_emplace(key_of(shape)).second) missing.push_back(shape);
  }
  std::vector<ShapeCost> found;
  try {
    if (!missing.empty()) found = costs_->costs_of(missing);
  } catch (...) {  // nobody may find an empty entry
    for (const MicroBatchShape& shape : missing) known_.erase(key_of(shape));
    throw;
  }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    known_[key_of(missing[i])] = std::move(found[i]);
  }
  std::vector<ShapeCost> costs;
  costs.reserve(shapes.size());
  for (const MicroBatchShape& shape : shapes) costs.push_back(known_.at(key_of(shape)));
  return costs;
}

ShapeLoads CachedCosts::loads_of(const std::vector<MicroBatchShape>& shapes) const {
  if (!std::all_of(shapes.begin(), shapes.end(), fits_packed)) return costs_->loads_of(shapes);
  const std::lock_guard lock(mutex_);
  std::vector<MicroBatchShape> missing;
  std::vector<std::size_t> places;
  places.reserve(shapes.size());
  for (const MicroBatchShape& shape : shapes) {
    const auto [at, is_new] =
        load_places_.try_emplace(packed(shape), loads_.shapes.size() + missing.size());
    if (is_new) missing.push_back(shape);
    places.push_back(at->second);
  }
  try {
    if (!missing.empty()) append(costs_->loads_of(missing));
  } catch (...) {  // nobody may find a place that nothing came to
    for (const MicroBatchShape& shape : missing) load_places_.erase(packed(shape));
    throw;
  }
  ShapeLoads found;
  found.shapes.reserve(shapes.size());
  found.loads.reserve(shapes.size() * stages_);
  for (const std::size_t place : places) {
    found.shapes.push_back(loads_.shapes[place]);
    const auto first = loads_.loads.begin() + static_cast<std::ptrdiff_t>(place * stages_);
    found.loads.insert(found.loads.end(), first, first + static_cast<std::ptrdiff_t>(stages_));
  }
  return found;
}

// Where no shape has a price, loads may be missing.
void CachedCosts::append(ShapeLoads found) const {
  found.loads.resize(found.shapes.size() * stages_);
  std::move(found.shapes.begin(), found.shapes.end(), std::back_inserter(loads_.shapes));
  loads_.loads.insert(loads_.loads.end(), found.loads.begin(), found.loads.end());
}

}  // namespace penstock
