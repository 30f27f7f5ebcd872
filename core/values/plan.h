// A Plan: every decision about how a model is laid out on devices for one training step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/ids.h"
#include "core/values/other_degrees.h"
#include "core/values/stage_map.h"

namespace penstock {

// Which ranks are neighbours. The ranks of one tensor-parallel group always are.
enum class Placement {
  kPipelineInner,  // device = (d * P + p) * T + t: the stages of one replica side by side
  kDataInner,      // device = (p * D + d) * T + t: the replicas of one stage side by side
};

// What the holders of a stage's weights divide among them where Plan::zero1 is set, besides the
// state of the optimizer.
enum class Sharding {
  kState,       // nothing: ZeRO-1
  kGradients,   // gradients: ZeRO-2
  kParameters,  // and weights, which are gathered section by section: ZeRO-3
  kFsdp,        // the same as PyTorch's fully_shard does it: the shards in 32 bits are the master
                // copy; with a pipeline weights are gathered once per step
};

// Of unequal replicas those that are alike: on the same device types, rank by rank, with equal
// shares of the batch.
struct ReplicaKind {
  int replicas = 1;
  int samples = 1;  // per step, of each of them
  bool operator==(const ReplicaKind&) const = default;
};

struct Plan {
  std::string schedule = "1f1b";
  int group = 0;     // interleaving group; 0: the schedule's own default
  int pipeline = 1;  // P, ranks
  int chunks = 1;    // V, virtual stages per rank, those of all copies; S = P * V
  StageMap stage_map = StageMap::kLoop;
  int data = 1;     // D, replicas
  int tensor = 1;   // T
  int context = 1;  // C, ranks that divide every sequence
  ContextKind context_kind = ContextKind::kRing;
  // EP, ranks that have the experts of a layer between them: neighbours among the D C T that hold a
  // stage, which are a grid of their own for experts.
  int expert = 1;
  int expert_tensor = 0;     // ETP, ranks that divide the matrices of one expert; 0: T of them
  int micro_batch_size = 1;  // b, samples
  int global_batch = 1;      // samples per step
  int sequence_length = 0;   // tokens per sample; 0 when the model has no such dimension
  // Micro-batches of shapes of their own, in order; then the three numbers above are its largest
  // samples, their sum and its most tokens (set_batch()). Empty: the batch is even, those numbers
  // say it all. Ask batch_of(), which knows both.
  Batch batch;
  std::string recompute = "none";  // a mode of the profile; "none" keeps all activations
  // How many sections of each stage of a copy of the weights use that mode, the first ones; the
  // others keep their activations. Empty: all sections (core/values/recompute_sections.h).
  std::vector<int> recompute_sections;
  bool zero1 = false;  // optimizer state sharded over the holders of a stage's weights
  Sharding sharding = Sharding::kState;  // what else
  // Shards lie in groups of so many holders, each of which has all of them (HSDP): then gradients
  // are reduced over the groups as well. 0: over all holders.
  int shard_group = 0;
  // The optimizer's state lies on the host, which updates: gradients go there at the end of a step,
  // and updated weights come back.
  bool offload_optimizer = false;
  Placement placement = Placement::kPipelineInner;
  std::string device;  // device type; of a mixed plan that of rank 0
  // A mixed plan: the device type of every rank, at least two different ones; of every listed rank
  // where replicas are unequal. Empty: all ranks on `device`.
  std::vector<std::string> rank_devices;
  // Unequal replicas: their kinds, the replicas numbered kind by kind. Empty: all are on the same
  // devices and the batch is divided evenly.
  std::vector<ReplicaKind> replica_kinds;
  // Stage k of every copy of the weights holds sections cuts[k] .. cuts[k + 1] - 1; ascending, one
  // entry more than a copy has stages, from 0 to the number of sections.
  std::vector<int> cuts;

  [[nodiscard]] int stages() const { return pipeline * chunks; }
  [[nodiscard]] int copies() const { return copies_of(stage_map); }
  [[nodiscard]] int stages_per_copy() const { return stages() / copies(); }
  // The devices of one pipeline rank in one replica, neighbours: c * T + t.
  [[nodiscard]] int devices_per_rank() const { return tensor * context; }
  [[nodiscard]] int devices() const { return pipeline * data * devices_per_rank(); }
  [[nodiscard]] bool has_even_batch() const { return batch.empty(); }
  [[nodiscard]] bool has_unequal_replicas() const { return !replica_kinds.empty(); }
  [[nodiscard]] int kinds() const {
    return has_unequal_replicas() ? static_cast<int>(replica_kinds.size()) : 1;
  }
  // The ranks that may differ: those of one replica of every kind, of kind k from k * P on. A plan
  // file's Program numbers its ranks likewise.
  [[nodiscard]] int listed_ranks() const { return kinds() * pipeline; }
  [[nodiscard]] bool is_mixed() const { return !rank_devices.empty(); }
  [[nodiscard]] const std::string& device_of_rank(int rank) const {
    return is_mixed() ? rank_devices[static_cast<std::size_t>(rank)] : device;
  }
  [[nodiscard]] std::vector<std::string> device_types() const;  // each once, by first rank
  [[nodiscard]] OtherDegrees other_degrees() const {
    return {context, expert, expert_tensor, context_kind};
  }
  // How many times the job holds every weight and its gradient, but those of experts.
  [[nodiscard]] int weight_copies() const { return data * context * copies(); }
  // Ranks that hold all experts of a layer between them: EP ETP, neighbours.
  [[nodiscard]] int expert_ranks() const {
    return expert * other_degrees().expert_tensor_of(tensor);
  }
  // How many times the job holds every expert: EDP, in all copies of the weights.
  [[nodiscard]] int expert_copies() const {
    return data * devices_per_rank() / expert_ranks() * copies();
  }
  // Whether experts lie on other ranks than the rest of their layers.
  [[nodiscard]] bool has_expert_grid() const { return expert_ranks() != tensor; }
  // In how many parts the optimizer's state lies.
  [[nodiscard]] int shards() const {
    if (!zero1) return 1;
    return shard_group > 0 ? shard_group : weight_copies();
  }
  // The same of experts. A group of shards has so many ranks of each expert.
  [[nodiscard]] int expert_shards() const {
    if (!zero1) return 1;
    if (shard_group == 0) return expert_copies();
    const int in_group = shard_group * tensor / expert_ranks();
    return in_group > 0 ? in_group : 1;
  }
  // Whether every backward reduces the gradients of its sections one by one, and every forward and
  // backward gathers their weights: only without a pipeline, whose stages do so once per step.
  [[nodiscard]] bool reduces_by_section() const {
    return pipeline == 1 && shards() > 1 && sharding >= Sharding::kGradients;
  }
  [[nodiscard]] bool gathers_by_section() const {
    return pipeline == 1 && shards() > 1 && sharding >= Sharding::kParameters;
  }

  [[nodiscard]] int rank_of(int stage) const { return rank_of_stage(stage_map, pipeline, stage); }
  [[nodiscard]] std::vector<int> stages_of_rank(int rank) const;  // ascending
  [[nodiscard]] int first_section(int stage) const {
    return cuts[static_cast<std::size_t>(stage % stages_per_copy())];
  }
  [[nodiscard]] int end_section(int stage) const {
    return cuts[static_cast<std::size_t>(stage % stages_per_copy()) + 1];
  }
  // Whether stage s + 1 takes what stage s makes: not from one copy of the weights to the next.
  [[nodiscard]] bool has_next(int stage) const { return (stage + 1) % stages_per_copy() > 0; }
  bool operator==(const Plan&) const = default;
};

// What a step takes; the shapes of unequal replicas kind by kind, since each has prices of its own.
// Shape i of StagePrices and of the Program's micro-batch table is entry i.
Batch batch_of(const Plan& plan);
// The same, counted: one entry per distinct pipeline, replicas that take more first. Unequal
// replicas are one entry per kind.
std::vector<ReplicaLoad> replica_loads(const Plan& plan);
// The first of them.
ReplicaLoad first_load(const Plan& plan);
// Of all samples, padding included.
std::int64_t tokens_per_step(const Plan& plan);
// Whether every replica takes the same number of micro-batches, all of one shape.
bool has_equal_micro_batches(const Plan& plan);
// Gives the plan this batch; where replicas take different ones, one kind of replicas for each.
void set_batch(Plan& plan, Batch batch);

// The samples that replica `index` of `plan` takes in a step.
int samples_of_replica(const Plan& plan, int index);

// The kind of replica `index`; 0 where all are alike.
int kind_of_replica(const Plan& plan, int index);
// The replicas of one kind as a plan of their own, whose replicas are alike.
Plan plan_of_kind(const Plan& plan, int kind);
// How many replicas run listed rank `rank`.
int replicas_of_rank(const Plan& plan, int rank);

// Puts listed rank r on devices of type `types[r]`; where all are one type, the plan is not mixed.
void set_rank_devices(Plan& plan, std::vector<std::string> types);

// What the ranks are on: "a100-40gb", of a mixed plan the ranks of each type in the order of the
// pipeline: "2 a100-40gb + 3 v100-16gb".
std::string device_words(const Plan& plan);

// The shapes of batch_of().
std::vector<MicroBatchShape> micro_batch_shapes(const Plan& plan);
// The shapes of one kind: [first, end).
struct ShapeRange {
  int first = 0, end = 0;
};
ShapeRange shapes_of_kind(const Plan& plan, int kind);

}  // namespace penstock
