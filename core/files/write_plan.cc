// Writes penstock.plan/2 member by member, one small function per object. Invariant:
// read_plan(write_plan(file)) is the file, and equal values give equal bytes, since plan files are
// compared and hashed.
#include <algorithm>
#include <utility>

#include "core/files/batch_file.h"
#include "core/files/plan_format.h"
#include "core/files/plan_parts.h"
#include "core/files/program_file.h"
#include "core/values/error.h"
#include "core/values/plan_file.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

void require_cuts(const Plan& plan, std::size_t sections) {
  bool ascend = plan.cuts.size() == static_cast<std::size_t>(plan.stages_per_copy()) + 1 &&
                plan.cuts.front() >= 0 && plan.cuts.back() <= static_cast<int>(sections);
  for (std::size_t k = 1; k < plan.cuts.size(); ++k) ascend &= plan.cuts[k - 1] < plan.cuts[k];
  if (ascend) return;
  throw Error(ErrorKind::kInternal, "this plan cannot be written: its cuts do not ascend");
}

// Nothing new over plan.cuts, but said in the model's own words.
Json write_stages(const PlanFile& file) {
  const Plan& plan = file.plan;
  require_cuts(plan, file.section_names.size());
  Json stages = Json::array();
  for (int s = 0; s < plan.stages(); ++s) {
    const int first = plan.first_section(s), end = plan.end_section(s);
    Json stage = Json::object();
    stage.set("index", s);
    stage.set("rank", plan.rank_of(s));
    stage.set("first_section", file.section_names[static_cast<std::size_t>(first)]);
    stage.set("last_section", file.section_names[static_cast<std::size_t>(end - 1)]);
    stage.set("sections", end - first);
    stages.push(std::move(stage));
  }
  return stages;
}

Json write_replica_kinds(const Plan& plan) {
  Json kinds = Json::array();
  int rank = 0;  // listed
  for (const ReplicaKind& kind : plan.replica_kinds) {
    Json devices = Json::array();
    for (const int end = rank + plan.pipeline; rank < end; ++rank) {
      devices.push(plan.device_of_rank(rank));
    }
    kinds.push(Json::object()
                   .set("replicas", kind.replicas)
                   .set("samples", kind.samples)
                   .set("rank_devices", std::move(devices)));
  }
  return kinds;
}

Json write_ties(const std::vector<PlanTie>& ties) {
  Json json = Json::array();
  for (const PlanTie& tie : ties) {
    json.push(Json::object().set("name", tie.name).set("stages", json_of(tie.stages)));
  }
  return json;
}

}  // namespace

Json write_decisions(const Plan& plan) {
  Json json = Json::object();
  json.set("schedule", plan.schedule);
  json.set("group", plan.group);
  json.set("pipeline", plan.pipeline);
  json.set("chunks", plan.chunks);
  json.set("stage_map", word_of(kStageMapWords, plan.stage_map));
  json.set("data", plan.data);
  json.set("tensor", plan.tensor);
  if (plan.context > 1) json.set("context", plan.context);
  if (plan.context_kind != ContextKind::kRing) {
    json.set("context_kind", word_of(kContextKindWords, plan.context_kind));
  }
  if (plan.expert > 1) json.set("expert", plan.expert);
  if (plan.expert_tensor > 0) json.set("expert_tensor", plan.expert_tensor);
  if (plan.has_even_batch()) {
    json.set("micro_batch_size", plan.micro_batch_size);
    json.set("global_batch", plan.global_batch);
    json.set("sequence_length", plan.sequence_length);
  } else {
    json.set("batch", write_batch(plan.batch));
  }
  json.set("recompute", plan.recompute);
  if (!plan.recompute_sections.empty()) {
    json.set("recompute_sections", json_of(plan.recompute_sections));
  }
  json.set("zero1", plan.zero1);
  if (plan.sharding != Sharding::kState) {
    json.set("sharding", word_of(kShardingWords, plan.sharding));
  }
  if (plan.shard_group > 0) json.set("shard_group", plan.shard_group);
  if (plan.offload_optimizer) json.set("offload_optimizer", true);
  json.set("placement", word_of(kPlacementWords, plan.placement));
  json.set("device", plan.device);
  if (plan.has_unequal_replicas()) {
    json.set("replica_kinds", write_replica_kinds(plan));
  } else if (plan.is_mixed()) {
    json.set("rank_devices", json_of(plan.rank_devices));
  }
  json.set("cuts", json_of(plan.cuts));
  return json;
}

namespace {

Json write_flops(const ModelFlops& flops) {
  Json peaks = Json::array();
  for (const auto& [device, flops_per_s] : flops.peaks) {
    peaks.push(Json::object().set("device", device).set("flops_per_s", flops_per_s));
  }
  Json json = Json::object();
  json.set("per_sample", flops.per_sample);
  json.set("convention", word_of(kFlopConventionWords, flops.convention));
  json.set("peaks", std::move(peaks));
  return json;
}

Json write_estimate_options(const std::vector<EstimateOption>& options) {
  Json json = Json::object();
  for (const EstimateOption& option : options) json.set(option.name, option.value);
  return json;
}

}  // namespace

Json write_plan(const PlanFile& file) {
  Json inputs = Json::object();
  inputs.set("profile", json_of(file.profile));
  inputs.set("cluster", json_of(file.cluster_file));
  Json json = Json::object();
  json.set("format", std::string(kPlanFormat));
  json.set("model", file.model);
  if (file.description) json.set("description", write_description(*file.description));
  json.set("tool_version", file.tool_version);
  json.set("inputs", std::move(inputs));
  json.set("plan", write_decisions(file.plan));
  json.set("sections", json_of(file.section_names));
  json.set("stages", write_stages(file));
  json.set("cluster", json_of(file.cluster));
  json.set("ties", write_ties(file.ties));
  json.set("executor", write_executor(file.executor));
  if (file.calibration) json.set("calibration", write_calibration(*file.calibration));
  if (!file.estimate_options.empty()) {
    json.set("estimate_options", write_estimate_options(file.estimate_options));
  }
  if (file.flops) json.set("flops", write_flops(*file.flops));
  json.set("prices", write_prices(file.prices));
  json.set("program", write_program(file.program));
  json.set("prediction", write_prediction(file.prediction));
  json.set("not_searched", json_of(file.not_searched));
  return json;
}

}  // namespace penstock
