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
#include "core/values/fixed_costs.h"
#include "core/values/plan_file.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

Json ints(const std::vector<int>& values) {
  Json json = Json::array();
  for (const int value : values) json.push(value);
  return json;
}

Json strings(const std::vector<std::string>& values) {
  Json json = Json::array();
  for (const std::string& value : values) json.push(value);
  return json;
}

void set_price(Json& json, const std::string& stem, const Price& price) {
  json.set(stem + "_ns", std::int64_t{price.duration.count()});
  if (price.spread != Duration{}) {
    json.set(stem + "_spread_ns", std::int64_t{price.spread.count()});
  }
}

Json write_input(const InputFile& input) {
  return Json::object().set("path", input.path).set("hash", input.hash);
}

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

Json write_devices(const std::vector<PlanDevice>& devices) {
  Json json = Json::array();
  for (const PlanDevice& device : devices) {
    json.push(Json::object()
                  .set("name", device.name)
                  .set("memory_per_device_bytes", device.memory.count)
                  .set("reserve_bytes", device.reserve.count)
                  .set("usd_per_hour", device.usd_per_hour)
                  .set("devices_per_node", device.per_node));
  }
  return json;
}

Json write_cluster_part(const PlanCluster& cluster) {
  Json json = Json::object();
  json.set("name", cluster.name);
  json.set("device", cluster.device);
  json.set("memory_per_device_bytes", cluster.memory_per_device.count);
  json.set("reserve_bytes", cluster.reserve.count);
  json.set("usd_per_hour", cluster.usd_per_hour);
  json.set("devices_per_node", cluster.devices_per_node);
  if (cluster.host_memory > Bytes{}) json.set("host_memory_bytes", cluster.host_memory.count);
  if (!cluster.other_devices.empty()) {
    json.set("other_devices", write_devices(cluster.other_devices));
  }
  json.set("levels", strings(cluster.levels));
  json.set("boundary_level", ints(cluster.boundary_level));
  return json;
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
    json.push(Json::object().set("name", tie.name).set("stages", ints(tie.stages)));
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
    json.set("recompute_sections", ints(plan.recompute_sections));
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
    json.set("rank_devices", strings(plan.rank_devices));
  }
  json.set("cuts", ints(plan.cuts));
  return json;
}

Json write_executor(const ExecutorModel& executor) {
  Json json = Json::object();
  json.set("name", executor.name);
  json.set("transfer", word_of(kTransferWords, executor.transfer));
  json.set("queues", word_of(kQueueWords, executor.queues));
  json.set("receive_must_be_posted", executor.receive_must_be_posted);
  json.set("issue", word_of(kIssueWords, executor.issue));
  json.set("optimizer", word_of(kOptimizerWords, executor.optimizer));
  if (executor.host_link != HostLink::kDuplex) {
    json.set("host_link", word_of(kHostLinkWords, executor.host_link));
  }
  for (const FixedCost& one : kFixedCosts) {
    if (one.may_be_left_out && executor.*one.cost == Duration{}) continue;
    json.set(std::string(one.field) + "_ns", std::int64_t{(executor.*one.cost).count()});
  }
  return json;
}

namespace {

Json write_shape(const ComputePrice& compute, const TransferPrice& transfer) {
  Json json = Json::object();
  set_price(json, "forward", compute.forward);
  set_price(json, "input_gradient", compute.input_gradient);
  set_price(json, "weight_gradient", compute.weight_gradient);
  set_price(json, "fused_backward", compute.fused_backward);
  set_price(json, "recompute", compute.recompute);
  json.set("overlap_gain_ns", std::int64_t{compute.overlap_gain.count()});
  for (const auto& [key, member] : kShardedTimes) {
    const Duration time = compute.*member;
    if (time != Duration{}) json.set(std::string(key) + "_ns", std::int64_t{time.count()});
  }
  set_price(json, "send_activation", transfer.activation);
  set_price(json, "receive_gradient", transfer.gradient);
  json.set("stash_bytes", compute.stash.count);
  json.set("weight_stash_bytes", compute.weight_stash.count);
  json.set("working_peak_bytes", compute.working_peak.count);
  json.set("boundary_bytes", compute.boundary.count);
  return json;
}

Json write_prices(const StagePrices& prices) {
  const auto of_shapes =
      static_cast<std::size_t>(prices.stages) * static_cast<std::size_t>(prices.shapes);
  if (prices.step.size() != static_cast<std::size_t>(prices.stages) ||
      prices.compute.size() != of_shapes || prices.transfer.size() != of_shapes) {
    throw Error(ErrorKind::kInternal, "this plan cannot be written: prices are missing");
  }
  const bool copies =
      std::any_of(prices.step.begin(), prices.step.end(), [](const StepPrice& step) {
        return step.load != Price{} || step.store != Price{} || step.loaded != Bytes{} ||
               step.stored != Bytes{} || step.only_on_host != Bytes{};
      });
  Json stages = Json::array();
  for (int s = 0; s < prices.stages; ++s) {
    const StepPrice& step = prices.step[static_cast<std::size_t>(s)];
    Json shapes = Json::array();
    for (int shape = 0; shape < prices.shapes; ++shape) {
      shapes.push(write_shape(prices.compute_of(s, shape), prices.transfer_of(s, shape)));
    }
    Json stage = Json::object();
    stage.set("parameters_bytes", step.parameters.count);
    stage.set("gradients_bytes", step.gradients.count);
    stage.set("optimizer_state_bytes", step.optimizer_state.count);
    if (step.section_buffers != Bytes{}) {
      stage.set("section_buffers_bytes", step.section_buffers.count);
    }
    set_price(stage, "reduce_gradient", step.reduce_gradient);
    set_price(stage, "optimizer", step.optimizer);
    set_price(stage, "unshard", step.unshard);
    if (copies) {
      set_price(stage, "load", step.load);
      set_price(stage, "store", step.store);
      stage.set("load_bytes", step.loaded.count);
      stage.set("store_bytes", step.stored.count);
      if (step.only_on_host > Bytes{}) stage.set("only_on_host_bytes", step.only_on_host.count);
    }
    stage.set("shapes", std::move(shapes));
    stages.push(std::move(stage));
  }
  Json tied_reduce = Json::array();
  for (const TiedPrice& price : prices.tied_reduce) {
    Json tie = Json::object();
    set_price(tie, "tied_reduce", price.reduce);
    tied_reduce.push(std::move(tie));
  }
  Json json = Json::object();
  json.set("stages", std::move(stages));
  json.set("ties", std::move(tied_reduce));
  set_price(json, "norm", prices.norm);
  return json;
}

Json write_rank(const RankEvaluation& rank) {
  return Json::object()
      .set("memory", write_memory(rank.memory))
      .set("capacity_bytes", rank.capacity.count)
      .set("time", write_rank_time(rank.time));
}

Json write_prediction(const Evaluation& prediction) {
  Json ranks = Json::array();
  for (const RankEvaluation& rank : prediction.ranks) ranks.push(write_rank(rank));
  Json assumptions = Json::array();
  for (const Assumption& assumption : prediction.assumptions) {
    assumptions.push(Json::object().set("text", assumption.text).set("share", assumption.share));
  }
  Json json = Json::object();
  json.set("step_time_ns", std::int64_t{prediction.step_time.count()});
  json.set("step_time_low_ns", std::int64_t{prediction.step_time_low.count()});
  json.set("step_time_high_ns", std::int64_t{prediction.step_time_high.count()});
  json.set("makespan_ns", std::int64_t{prediction.makespan.count()});
  json.set("longest_span_ns", std::int64_t{prediction.longest_span.count()});
  json.set("ideal_ns", std::int64_t{prediction.ideal.count()});
  json.set("cost_usd_per_step", prediction.usd_per_step);
  json.set("ranks", std::move(ranks));
  json.set("assumptions", std::move(assumptions));
  return json;
}

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

Json write_memory(const MemoryUse& memory) {
  Json json = Json::object();
  for (const auto& [key, part] : kMemoryKeys) {
    json.set(std::string(key) + "_bytes", (memory.*part).count);
  }
  return json;
}

Json write_rank_time(const RankTime& time) {
  Json json = Json::object();
  for (const auto& [key, part] : kRankTimeKeys) {
    json.set(std::string(key) + "_ns", std::int64_t{(time.*part).count()});
  }
  return json;
}

Json write_plan(const PlanFile& file) {
  Json inputs = Json::object();
  inputs.set("profile", write_input(file.profile));
  inputs.set("cluster", write_input(file.cluster_file));
  Json json = Json::object();
  json.set("format", std::string(kPlanFormat));
  json.set("model", file.model);
  if (file.description) json.set("description", write_description(*file.description));
  json.set("tool_version", file.tool_version);
  json.set("inputs", std::move(inputs));
  json.set("plan", write_decisions(file.plan));
  json.set("sections", strings(file.section_names));
  json.set("stages", write_stages(file));
  json.set("cluster", write_cluster_part(file.cluster));
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
  json.set("not_searched", strings(file.not_searched));
  return json;
}

}  // namespace penstock
