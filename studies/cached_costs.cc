#include "studies/cached_costs.h"

#include <cstddef>

namespace penstock {
namespace {

auto key_of(const MicroBatchShape& shape) {
  return std::tuple(shape.samples, shape.tokens, shape.decoder_tokens);
}

}  // namespace

std::vector<ShapeCost> CachedCosts::costs_of(const std::vector<MicroBatchShape>& shapes) const {
  const std::lock_guard lock(mutex_);
  std::vector<MicroBatchShape> missing;
  for (const MicroBatchShape& shape : shapes) {
    // An empty entry holds the place of a shape that is asked for twice.
    if (known_.try_emplace(key_of(shape)).second) missing.push_back(shape);
  }
  std::vector<ShapeCost> found =
      missing.empty() ? std::vector<ShapeCost>() : costs_->costs_of(missing);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    known_[key_of(missing[i])] = std::move(found[i]);
  }
  std::vector<ShapeCost> costs;
  costs.reserve(shapes.size());
  for (const MicroBatchShape& shape : shapes) costs.push_back(known_.at(key_of(shape)));
  return costs;
}

}  // namespace penstock
