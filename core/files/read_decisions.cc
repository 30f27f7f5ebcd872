// Reads the decisions of a plan: the grid, the batch, who stands where, the cuts and what is
// recomputed. Each key is judged as it is read, against those before it, so that a message names
// the key to change.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/files/batch_file.h"
#include "core/files/plan_parts.h"
#include "core/files/read_values.h"
#include "core/values/plan_words.h"
#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"

namespace penstock {
namespace {

std::vector<std::string> read_types_of_ranks(const JsonReader& reader, const Plan& plan) {
  std::vector<std::string> types = read_strings(reader);
  if (types.size() != static_cast<std::size_t>(plan.pipeline)) {
    reader.fail("expected a device type for each of the " + std::to_string(plan.pipeline) +
                " pipeline ranks, got " + std::to_string(types.size()));
  }
  return types;
}

// Every kind names its ranks' types, also where all are one type.
void read_replica_kinds(const JsonReader& reader, Plan& plan) {
  std::int64_t replicas = 0, samples = 0;
  std::vector<std::string> types;
  const std::vector<ReplicaKind> of_batch = std::move(plan.replica_kinds);
  plan.replica_kinds.clear();
  for (JsonReader element : reader.elements()) {
    ReplicaKind kind;
    kind.replicas = read_int(element.at("replicas"), 1);
    kind.samples = read_int(element.at("samples"), 1);
    const std::vector<std::string> own = read_types_of_ranks(element.at("rank_devices"), plan);
    types.insert(types.end(), own.begin(), own.end());
    element.finish();
    replicas += kind.replicas;
    samples += std::int64_t{kind.replicas} * kind.samples;
    if (replicas > plan.data || samples > plan.global_batch) break;
    plan.replica_kinds.push_back(kind);
  }
  if (replicas != plan.data || samples != plan.global_batch) {
    reader.fail("expected kinds of " + std::to_string(plan.data) + " replicas with " +
                std::to_string(plan.global_batch) +
                " samples in all, as 'data' and 'global_batch' say");
  }
  if (!plan.has_even_batch() && plan.replica_kinds != of_batch) {
    reader.fail("expected the entries of 'batch', with the replicas and the samples that it says");
  }
  if (types.front() != plan.device) {
    reader.fail("rank 0 is on '" + types.front() + "', but 'device' says '" + plan.device +
                "'; 'device' is the type of rank 0");
  }
  set_rank_devices(plan, std::move(types));
}

void read_rank_devices(const JsonReader& reader, Plan& plan) {
  if (plan.has_unequal_replicas()) {
    reader.fail(
        "the replicas take different micro-batches; say it in 'replica_kinds', kind by kind");
  }
  plan.rank_devices = read_types_of_ranks(reader, plan);
  if (plan.rank_devices.front() != plan.device) {
    reader.fail("rank 0 is on '" + plan.rank_devices.front() + "', but 'device' says '" +
                plan.device + "'; 'device' is the type of rank 0");
  }
  if (plan.device_types().size() == 1) {
    reader.fail("all ranks are on '" + plan.device +
                "'; leave this key out of a plan that is not mixed");
  }
}

// An even batch in three numbers, or all shapes and runs, which say them as well.
void read_sizes(JsonReader& reader, Plan& plan) {
  const auto batch = reader.get("batch");
  if (!batch) {
    plan.micro_batch_size = read_int(reader.at("micro_batch_size"), 1);
    plan.global_batch = read_int(reader.at("global_batch"), 1);
    plan.sequence_length = read_int(reader.at("sequence_length"), 0);
    return;
  }
  for (const char* key : {"micro_batch_size", "global_batch", "sequence_length"}) {
    if (const auto other = reader.get(key)) other->fail("'batch' says it; leave this key out");
  }
  const int data = plan.data;
  set_batch(plan, read_batch(*batch));
  if (plan.data == data) return;
  batch->fail("its entries have " + std::to_string(plan.data) + " replicas in all, but 'data' is " +
              std::to_string(data));
}

// P, D, T and C are set.
void read_other_degrees(JsonReader& reader, Plan& plan) {
  if (const auto kind = reader.get("context_kind")) {
    plan.context_kind = read_word(*kind, kContextKindWords);
    if (plan.context == 1) kind->fail("no sequence is divided; add 'context', or leave it out");
  }
  const int of_stage = plan.data * plan.devices_per_rank();
  if (const auto expert = reader.get("expert")) plan.expert = read_int(*expert, 1, of_stage);
  const auto within = reader.get("expert_tensor");
  if (within) plan.expert_tensor = read_int(*within, 1, of_stage / plan.expert);
  if (plan.expert_ranks() > of_stage || of_stage % plan.expert_ranks() != 0) {
    reader.fail("the " + std::to_string(plan.expert_ranks()) +
                " ranks that have all experts (expert times expert_tensor) do not divide the " +
                std::to_string(of_stage) + " that hold a stage; change 'expert'");
  }
}

// The grid and the batch are set.
void read_sharding(JsonReader& reader, Plan& plan) {
  if (const auto sharding = reader.get("sharding")) {
    plan.sharding = read_word(*sharding, kShardingWords);
    if (!plan.zero1) sharding->fail("'zero1' is false, so that nothing is sharded; make it true");
  }
  if (const auto group = reader.get("shard_group")) plan.shard_group = read_int(*group, 1);
  if (const auto offload = reader.get("offload_optimizer")) {
    plan.offload_optimizer = offload->boolean();
  }
}

// The plan's cuts are set.
void read_recompute_sections(const JsonReader& reader, Plan& plan) {
  if (plan.recompute == "none") {
    reader.fail("'recompute' is \"none\"; name a mode there, or leave this key out");
  }
  const std::vector<JsonReader> counts = reader.elements();
  if (counts.size() + 1 != plan.cuts.size()) {
    reader.fail("expected " + std::to_string(plan.cuts.size() - 1) + " numbers, one per stage" +
                (plan.copies() > 1 ? " of a copy of the weights" : "") + ", got " +
                std::to_string(counts.size()));
  }
  for (std::size_t s = 0; s < counts.size(); ++s) {
    plan.recompute_sections.push_back(read_int(counts[s], 0, plan.cuts[s + 1] - plan.cuts[s]));
  }
  const RecomputeCount count = count_recomputed(plan);
  if (count.sections == 0) {
    reader.fail("no section recomputes; say \"recompute\": \"none\" and leave this key out");
  }
  if (count.sections == plan.cuts.back()) {
    reader.fail("all sections recompute; leave this key out, which says the same");
  }
}

}  // namespace

Plan read_decisions(JsonReader reader, int sections) {
  Plan plan;
  plan.schedule = reader.at("schedule").string();
  plan.group = read_int(reader.at("group"), 0);
  plan.pipeline = read_int(reader.at("pipeline"), 1, kNoStage.value);
  const JsonReader chunks = reader.at("chunks");
  plan.chunks = read_int(chunks, 1, kNoStage.value / plan.pipeline);
  plan.stage_map = read_word(reader.at("stage_map"), kStageMapWords);
  if (plan.stage_map != StageMap::kLoop && plan.chunks != 2) {
    chunks.expected("2, as the stage map '" + std::string(name_of(plan.stage_map)) + "' has it");
  }
  plan.data = read_int(reader.at("data"), 1, kMostInt / plan.pipeline);
  plan.tensor = read_int(reader.at("tensor"), 1, kMostInt / (plan.pipeline * plan.data));
  if (const auto context = reader.get("context")) {
    plan.context = read_int(*context, 1, kMostInt / (plan.pipeline * plan.data * plan.tensor));
  }
  read_other_degrees(reader, plan);
  read_sizes(reader, plan);
  plan.recompute = reader.at("recompute").string();
  plan.zero1 = reader.at("zero1").boolean();
  read_sharding(reader, plan);
  plan.placement = read_word(reader.at("placement"), kPlacementWords);
  plan.device = reader.at("device").string();
  const auto kinds = reader.get("replica_kinds");
  if (kinds) read_replica_kinds(*kinds, plan);
  if (const auto types = reader.get("rank_devices")) {
    if (kinds) types->fail("'replica_kinds' says it for every kind; leave this key out");
    read_rank_devices(*types, plan);
  }
  const JsonReader cuts = reader.at("cuts");
  plan.cuts = read_ints(cuts, 0, sections);
  if (plan.cuts.size() != static_cast<std::size_t>(plan.stages_per_copy()) + 1) {
    cuts.fail("expected " + std::to_string(plan.stages_per_copy() + 1) +
              " cuts, one more than stages" +
              (plan.copies() > 1 ? " in each copy of the weights" : "") + ", got " +
              std::to_string(plan.cuts.size()));
  }
  for (std::size_t s = 0; s + 1 < plan.cuts.size(); ++s) {
    if (plan.cuts[s] >= plan.cuts[s + 1]) cuts.fail("the cuts must ascend");
  }
  if (const auto counts = reader.get("recompute_sections")) read_recompute_sections(*counts, plan);
  reader.finish();
  return plan;
}

}  // namespace penstock
