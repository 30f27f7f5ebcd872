#include "core/values/batch.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace penstock {
namespace {

const MicroBatchShape& shape_of(const Batch& batch, const ShapeRun& run) {
  return batch.shapes[static_cast<std::size_t>(run.shape)];
}

// The sum over all micro-batches of all replicas.
template <class Value>
std::int64_t sum_of(const Batch& batch, const Value& value) {
  std::int64_t sum = 0;
  for (const ReplicaBatch& each : batch.replicas) {
    for (const ShapeRun& run : each.runs) {
      sum += std::int64_t{each.replicas} * run.count * value(shape_of(batch, run));
    }
  }
  return sum;
}

}  // namespace

ReplicaLoad even_load(int replicas, int samples, int micro_batch_size) {
  const int full = samples / micro_batch_size, rest = samples % micro_batch_size;
  return {replicas, samples, full + (rest > 0 ? 1 : 0), full, rest};
}

Batch even_batch(const EvenBatch& even) {
  const int longer = even.samples % even.replicas, samples = even.samples / even.replicas;
  std::vector<ReplicaLoad> loads;
  if (longer > 0) loads.push_back(even_load(longer, samples + 1, even.micro_batch_size));
  loads.push_back(even_load(even.replicas - longer, samples, even.micro_batch_size));
  std::vector<int> sizes;
  for (const ReplicaLoad& load : loads) {
    if (load.full > 0) sizes.push_back(even.micro_batch_size);
    if (load.rest > 0) sizes.push_back(load.rest);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  Batch batch;
  for (const int size : sizes) batch.shapes.push_back({size, even.tokens, 0});
  for (const ReplicaLoad& load : loads) {
    ReplicaBatch& each = batch.replicas.emplace_back();
    each.replicas = load.replicas;
    const auto add = [&](int count, int size) {
      if (count == 0) return;
      const auto at = std::find(sizes.begin(), sizes.end(), size) - sizes.begin();
      each.runs.push_back({count, static_cast<int>(at)});
    };
    add(load.full, even.micro_batch_size);
    add(load.rest > 0 ? 1 : 0, load.rest);
  }
  return batch;
}

ReplicaLoad load_of(const Batch& batch, const ReplicaBatch& replicas) {
  ReplicaLoad load{replicas.replicas, 0, 0, 0, 0};
  for (const ShapeRun& run : replicas.runs) {
    load.samples += run.count * shape_of(batch, run).samples;
    load.micro_batches += run.count;
  }
  return load;
}

std::int64_t samples_of(const Batch& batch) {
  return sum_of(batch, [](const MicroBatchShape& shape) { return shape.samples; });
}

std::int64_t tokens_of(const Batch& batch) {
  return sum_of(batch, [](const MicroBatchShape& shape) {
    return shape.samples * (std::int64_t{shape.tokens} + shape.decoder_tokens);
  });
}

}  // namespace penstock
