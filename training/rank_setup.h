// What one rank holds and which samples it sees: a plan from the point of view of one rank. A
// value; runtime_bridge/ makes it from a plan file, a RankWork is built from it.
//
// Stages are numbered 0..S-1 within the pipeline, micro-batches 0..M-1 within the rank's pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/model_description.h"

namespace penstock {

struct StageSetup {
  int stage = 0;
  int first_section = 0, end_section = 0;
  // Of its copy of the weights: whether it takes the tokens, whether it ends in the loss.
  bool takes_input = false, ends_in_loss = false;
  // The holders of these weights (replicas, and copies within a pipeline) and which one this is.
  // Holder 0 counts in the global norm (ties: their first stage in replica 0).
  int holders = 1, holder = 0;
  // What is sharded lies once in each of so many groups of holders that follow each other (HSDP).
  int shard_groups = 1;
  [[nodiscard]] int shards() const { return holders / shard_groups; }
  [[nodiscard]] int shard() const { return holder % shards(); }
  [[nodiscard]] int shard_group() const { return holder / shards(); }
  bool operator==(const StageSetup&) const = default;
};

// Weights that sections on several stages share.
struct TieSetup {
  std::string name;
  std::vector<int> stages;  // all of them, ascending, those of other ranks too
  bool operator==(const TieSetup&) const = default;
};

// Samples [first_sample, first_sample + samples) of the step's global batch, all padded to the same
// lengths.
struct MicroBatchSetup {
  int first_sample = 0, samples = 1;
  int tokens = 0;          // of each sample; 0: RankSetup::sequence_length
  int decoder_tokens = 0;  // of each target, where a decoder has a length of its own; else 0
  bool operator==(const MicroBatchSetup&) const = default;
};

enum class LearningRateSchedule { kConstant, kLinear, kCosine };

// What a plan file leaves open: how the optimizer steps.
struct TrainingOptions {
  // The highest one; learning_rate.h says what it is in a step.
  double learning_rate = 1e-3;
  LearningRateSchedule schedule = LearningRateSchedule::kConstant;
  std::int64_t warmup_steps = 0;     // in which it rises
  std::int64_t decay_steps = 0;      // from this step on it is the least; not of kConstant
  double least_learning_rate = 0.0;  // likewise
  double weight_decay =
      0.0;                // AdamW: decoupled; of matrices and embeddings, not of biases and norms
  double momentum = 0.0;  // SGD
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;  // AdamW
  double clip_norm = 0.0;                            // global gradient norm; 0: not clipped
  std::uint64_t seed = 1;  // of initial weights and of the sampling of data
  bool operator==(const TrainingOptions&) const = default;
};

// What sections do by themselves in every forward and backward (section_exchange.h), where more
// than the optimizer's state is sharded and there is no pipeline.
enum class SectionSharding {
  kNone,
  kGradients,  // a backward leaves each holder its part of the sums (ZeRO-2)
  kWeights,    // likewise, and weights are whole only while their section computes (ZeRO-3, FSDP)
};

struct RankSetup {
  int rank = 0, ranks = 1;        // of the job
  int replica = 0, replicas = 1;  // D
  int pipeline_rank = 0;          // p, 0..P-1
  ModelDescription model;
  std::vector<StageSetup> stages;  // of this rank, ascending
  std::vector<TieSetup> ties;
  std::vector<MicroBatchSetup> micro_batches;  // of this rank's pipeline
  // Sample i of the micro-batches is sample sample_order[i] of the step's data. Empty: sample i.
  std::vector<int> sample_order;
  int global_batch = 1;
  int sequence_length = 0;
  bool recompute = false;  // forward keeps a stage's input only; an R action brings the rest back
  bool zero1 = false;      // optimizer state divided over the holders
  SectionSharding by_section = SectionSharding::kNone;  // with `zero1` only
  TrainingOptions options;
  bool operator==(const RankSetup&) const = default;

  [[nodiscard]] MicroBatchShape shape_of(int micro_batch) const {
    const MicroBatchSetup& m = micro_batches[static_cast<std::size_t>(micro_batch)];
    return {m.samples, m.tokens > 0 ? m.tokens : sequence_length, m.decoder_tokens};
  }
  // Its number in the step's data.
  [[nodiscard]] int sample_of(int sample) const {
    return sample_order.empty() ? sample : sample_order[static_cast<std::size_t>(sample)];
  }
};

}  // namespace penstock
