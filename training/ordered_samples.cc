// The order of an epoch is a permutation that is computed for one number at a time
// (training/shuffled_order.h), so that nothing grows with the data.
#include "training/ordered_samples.h"

#include <utility>

#include "training/mixed_bits.h"
#include "training/shuffled_order.h"

namespace penstock {

EvaluationData::EvaluationData(std::shared_ptr<const SampleSet> data, std::int64_t first,
                               int global_batch)
    : data_(std::move(data)), first_(first), global_batch_(global_batch) {}

TokenSample EvaluationData::sample(const ModelDescription& model, const SampleId& id) const {
  const std::int64_t batch = -1 - id.step;
  return data_->sample(model, id, first_ + batch * global_batch_ + id.sample);
}

EpochData::EpochData(std::shared_ptr<const SampleSet> data, std::int64_t first, std::int64_t end,
                     const Start& start)
    : data_(std::move(data)), first_(first), end_(end), start_(start) {}

std::int64_t EpochData::index(const SampleId& id) const {
  const std::int64_t taken =
      start_.taken + (id.step - start_.step) * start_.global_batch + id.sample;
  const auto n = static_cast<std::uint64_t>(samples());
  const std::uint64_t epoch = static_cast<std::uint64_t>(taken) / n;
  const ShuffledOrder order(n, mixed_bits({id.seed, epoch}));
  return first_ + static_cast<std::int64_t>(order(static_cast<std::uint64_t>(taken) % n));
}

TokenSample EpochData::sample(const ModelDescription& model, const SampleId& id) const {
  return data_->sample(model, id, index(id));
}

}  // namespace penstock
