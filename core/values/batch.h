// A Batch: what one training step takes, written down in one place: the shapes of its
// micro-batches and, replica by replica, which of them run and in what order. Who asks how many
// micro-batches, samples or tokens a step has asks here.
//
// Replicas that differ in what they take are entries of their own. Where they differ in more than a
// sample each (the unequal replicas of a Plan) the entries have shapes of their own as well, one
// entry's after the other's, since each is priced by itself.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

// What the micro-batches of a shape have in common. Every sample is padded to the same length.
struct MicroBatchShape {
  int samples = 1;
  int tokens = 0;          // of each sample; 0 when the model has no such dimension
  int decoder_tokens = 0;  // of each target, where a decoder has a length of its own; else 0
  bool operator==(const MicroBatchShape&) const = default;
};

// `count` consecutive micro-batches of one shape.
struct ShapeRun {
  int count = 1;
  int shape = 0;  // index into Batch::shapes
  bool operator==(const ShapeRun&) const = default;
};

// Replicas that take the same, and what each of them takes, in order.
struct ReplicaBatch {
  int replicas = 1;
  std::vector<ShapeRun> runs;
  bool operator==(const ReplicaBatch&) const = default;
};

struct Batch {
  std::vector<MicroBatchShape> shapes;
  std::vector<ReplicaBatch> replicas;  // numbered entry by entry
  bool operator==(const Batch&) const = default;

  [[nodiscard]] bool empty() const { return replicas.empty(); }
};

// Samples of one length, divided over the replicas and cut into micro-batches of one size.
struct EvenBatch {
  int samples = 1;           // of all replicas
  int replicas = 1;          // D
  int micro_batch_size = 1;  // b
  int tokens = 0;            // of each sample
};
// The first (samples mod D) replicas take one sample more. Each takes full micro-batches, then a
// short one where b does not divide its samples. The largest shape is the first.
Batch even_batch(const EvenBatch& even);

// What one of the replicas takes, counted.
struct ReplicaLoad {
  int replicas = 1;
  int samples = 1;
  int micro_batches = 1;
  int full = 1;  // of an even batch: micro-batches of b samples
  int rest = 0;  // of an even batch: samples of the short last one; 0: there is none
  bool operator==(const ReplicaLoad&) const = default;
};
// Of a replica of an even batch that takes `samples`.
ReplicaLoad even_load(int replicas, int samples, int micro_batch_size);

ReplicaLoad load_of(const Batch& batch, const ReplicaBatch& replicas);

std::int64_t samples_of(const Batch& batch);
// Of all samples, padding included; those of a decoder with a length of its own are counted beside
// those of the encoder.
std::int64_t tokens_of(const Batch& batch);

}  // namespace penstock
