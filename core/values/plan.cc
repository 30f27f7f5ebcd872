// What follows from the decisions of a Plan without prices: stages of ranks, the batch of each kind
// of replica and its shapes, tokens per step. An even batch is not stored but derived here from B,
// D and b, so that those stay the only decisions; a batch that was given stands as it is. Kinds of
// replicas have consecutive shapes in the order of the kinds, which prices and programs index with.
#include "core/values/plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/values/error.h"
#include "core/values/evaluation.h"
#include "core/values/plan_file.h"

namespace penstock {

std::vector<int> Plan::stages_of_rank(int rank) const {
  if (stage_map != StageMap::kLoop) return {rank, 2 * pipeline - 1 - rank};
  std::vector<int> held;
  held.reserve(static_cast<std::size_t>(chunks));
  for (int stage = rank; stage < stages(); stage += pipeline) held.push_back(stage);
  return held;
}

std::vector<std::string> Plan::device_types() const {
  if (!is_mixed()) return {device};
  std::vector<std::string> types;
  for (const std::string& type : rank_devices) {
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

void set_rank_devices(Plan& plan, std::vector<std::string> types) {
  plan.rank_devices = std::move(types);
  plan.device = plan.rank_devices.front();
  if (plan.device_types().size() == 1) plan.rank_devices.clear();
}

namespace {

std::string words_of_ranks(const std::string* first, const std::string* end) {
  std::string words;
  for (const std::string* run = first; run != end;) {
    const std::string* next =
        std::find_if(run, end, [&](const std::string& type) { return type != *run; });
    words += (words.empty() ? "" : " + ") + std::to_string(next - run) + " " + *run;
    run = next;
  }
  return words;
}

Batch even_batch_of(const Plan& plan) {
  return even_batch({plan.global_batch, plan.data, plan.micro_batch_size, plan.sequence_length});
}

ReplicaLoad load_of_kind(const Plan& plan, std::size_t kind) {
  if (!plan.has_even_batch()) return load_of(plan.batch, plan.batch.replicas[kind]);
  const ReplicaKind& of = plan.replica_kinds[kind];
  return even_load(of.replicas, of.samples, plan.micro_batch_size);
}

ShapeRange shapes_of(const ReplicaBatch& replicas) {
  ShapeRange range{std::numeric_limits<int>::max(), 0};
  for (const ShapeRun& run : replicas.runs) {
    range.first = std::min(range.first, run.shape);
    range.end = std::max(range.end, run.shape + 1);
  }
  return range;
}

// Of a batch that is not even, as that of a plan of its own.
Batch batch_of_kind(const Plan& plan, int kind) {
  ReplicaBatch replicas = plan.batch.replicas[static_cast<std::size_t>(kind)];
  const auto [first, end] = shapes_of(replicas);
  for (ShapeRun& run : replicas.runs) run.shape -= first;
  const auto shapes = plan.batch.shapes.begin();
  return {{shapes + first, shapes + end}, {std::move(replicas)}};
}

// Every kind has shapes of its own.
void append(const Batch& more, Batch& batch) {
  const int before = static_cast<int>(batch.shapes.size());
  batch.shapes.insert(batch.shapes.end(), more.shapes.begin(), more.shapes.end());
  for (const ReplicaBatch& replicas : more.replicas) {
    batch.replicas.push_back(replicas);
    for (ShapeRun& run : batch.replicas.back().runs) run.shape += before;
  }
}

}  // namespace

std::string device_words(const Plan& plan) {
  if (!plan.is_mixed()) return plan.device;
  const std::string* ranks = plan.rank_devices.data();
  if (!plan.has_unequal_replicas()) return words_of_ranks(ranks, ranks + plan.pipeline);
  std::string words;
  for (const ReplicaKind& kind : plan.replica_kinds) {
    words += (words.empty() ? "" : ", ") + std::to_string(kind.replicas) + " x (" +
             words_of_ranks(ranks, ranks + plan.pipeline) + ")";
    ranks += plan.pipeline;
  }
  return words;
}

Batch batch_of(const Plan& plan) {
  if (!plan.has_even_batch()) return plan.batch;
  if (!plan.has_unequal_replicas()) return even_batch_of(plan);
  Batch batch;
  for (int kind = 0; kind < plan.kinds(); ++kind) {
    append(even_batch_of(plan_of_kind(plan, kind)), batch);
  }
  return batch;
}

std::vector<ReplicaLoad> replica_loads(const Plan& plan) {
  std::vector<ReplicaLoad> loads;
  const std::size_t kinds = plan.has_even_batch() ? plan.replica_kinds.size()  //
                                                  : plan.batch.replicas.size();
  loads.reserve(kinds + 2);
  for (std::size_t kind = 0; kind < kinds; ++kind) loads.push_back(load_of_kind(plan, kind));
  if (kinds > 0) return loads;
  const int longer = plan.global_batch % plan.data, samples = plan.global_batch / plan.data;
  if (longer > 0) loads.push_back(even_load(longer, samples + 1, plan.micro_batch_size));
  loads.push_back(even_load(plan.data - longer, samples, plan.micro_batch_size));
  return loads;
}

ReplicaLoad first_load(const Plan& plan) {
  if (plan.has_unequal_replicas() || !plan.has_even_batch()) return load_of_kind(plan, 0);
  const int longer = plan.global_batch % plan.data, samples = plan.global_batch / plan.data;
  return longer > 0 ? even_load(longer, samples + 1, plan.micro_batch_size)
                    : even_load(plan.data, samples, plan.micro_batch_size);
}

std::int64_t tokens_per_step(const Plan& plan) {
  if (!plan.has_even_batch()) return tokens_of(plan.batch);
  return std::int64_t{plan.global_batch} * plan.sequence_length;
}

bool has_equal_micro_batches(const Plan& plan) {
  const std::int64_t each = std::int64_t{plan.data} * plan.micro_batch_size;
  return plan.has_even_batch() && plan.global_batch % each == 0;
}

void set_batch(Plan& plan, Batch batch) {
  plan.replica_kinds.clear();
  plan.micro_batch_size = 1;
  plan.sequence_length = plan.data = 0;
  for (const MicroBatchShape& shape : batch.shapes) {
    plan.micro_batch_size = std::max(plan.micro_batch_size, shape.samples);
    plan.sequence_length = std::max(plan.sequence_length, shape.tokens);
  }
  for (const ReplicaBatch& replicas : batch.replicas) {
    plan.data += replicas.replicas;
    if (batch.replicas.size() == 1) break;
    plan.replica_kinds.push_back({replicas.replicas, load_of(batch, replicas).samples});
  }
  plan.global_batch = static_cast<int>(samples_of(batch));
  plan.batch = std::move(batch);
}

int samples_of_replica(const Plan& plan, int index) {
  if (plan.has_unequal_replicas()) {
    return plan.replica_kinds[static_cast<std::size_t>(kind_of_replica(plan, index))].samples;
  }
  return plan.global_batch / plan.data + (index < plan.global_batch % plan.data ? 1 : 0);
}

int kind_of_replica(const Plan& plan, int index) {
  int kind = 0;
  for (int end = 0; kind + 1 < plan.kinds(); ++kind) {
    end += plan.replica_kinds[static_cast<std::size_t>(kind)].replicas;
    if (index < end) break;
  }
  return kind;
}

Plan plan_of_kind(const Plan& plan, int kind) {
  Plan one = plan;
  if (!plan.has_unequal_replicas()) return one;
  const ReplicaKind& of_kind = plan.replica_kinds[static_cast<std::size_t>(kind)];
  one.replica_kinds.clear();
  one.data = of_kind.replicas;
  one.global_batch = of_kind.replicas * of_kind.samples;
  if (!plan.has_even_batch()) one.batch = batch_of_kind(plan, kind);
  if (!plan.is_mixed()) return one;
  const auto first = plan.rank_devices.begin() + std::ptrdiff_t{kind} * plan.pipeline;
  set_rank_devices(one, {first, first + plan.pipeline});
  return one;
}

int replicas_of_rank(const Plan& plan, int rank) {
  if (!plan.has_unequal_replicas()) return plan.data;
  return plan.replica_kinds[static_cast<std::size_t>(rank / plan.pipeline)].replicas;
}

std::vector<MicroBatchShape> micro_batch_shapes(const Plan& plan) { return batch_of(plan).shapes; }

ShapeRange shapes_of_kind(const Plan& plan, int kind) {
  if (!plan.has_unequal_replicas()) {
    return {0, static_cast<int>(micro_batch_shapes(plan).size())};
  }
  if (!plan.has_even_batch()) return shapes_of(plan.batch.replicas[static_cast<std::size_t>(kind)]);
  ShapeRange range;
  for (int k = 0; k <= kind; ++k) {
    const ReplicaLoad load = load_of_kind(plan, static_cast<std::size_t>(k));
    range.first = range.end;
    range.end += (load.full > 0 ? 1 : 0) + (load.rest > 0 ? 1 : 0);
  }
  return range;
}

PlanDevice device_of_rank(const PlanFile& file, int rank) {
  const PlanCluster& cluster = file.cluster;
  const std::string& type = file.plan.device_of_rank(rank);
  for (const PlanDevice& other : cluster.other_devices) {
    if (file.plan.is_mixed() && other.name == type) return other;
  }
  if (file.plan.is_mixed() && type != file.plan.device) {
    throw Error(ErrorKind::kInternal, "this plan says nothing of device type '" + type + "'");
  }
  return {cluster.device, cluster.memory_per_device, cluster.reserve, cluster.usd_per_hour,
          cluster.devices_per_node};
}

Bytes Evaluation::peak_memory() const {
  Bytes peak;
  for (const RankEvaluation& rank : ranks) peak = std::max(peak, rank.memory.total());
  return peak;
}

}  // namespace penstock
