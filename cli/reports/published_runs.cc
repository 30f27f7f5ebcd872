// A strict reader of such runs, and for each an estimate of the model, a plan as the authors
// describe it, and its prediction. Runs that are left out of the fit are predicted all the same, so
// that the error on them can be seen.
#include "cli/reports/published_runs.h"

#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/options/layout.h"
#include "core/values/error.h"
#include "estimator/default_cluster.h"
#include "estimator/estimate_profile.h"
#include "estimator/shipped_data.h"
#include "report/table.h"
#include "report/words.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr int kMost = 1 << 22;

DeviceSheet sheet_called(const JsonReader& name) {
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(name.string())) return std::move(sheet);
  }
  name.expected("a device of data/devices");
}

// The path of a config.json, or what it would hold.
Architecture model_of(const JsonReader& config) {
  if (config.value().kind() == Json::Kind::kObject) {
    return read_architecture(config.value(), config.path());
  }
  const Loaded<Json> loaded = load_json(config.string());
  return read_architecture(loaded.value, loaded.file.path);
}

int count_at(JsonReader& object, std::string_view key) {
  const auto value = object.get(key);
  return value ? static_cast<int>(value->integer(1, kMost)) : 1;
}

PublishedRun read_run(JsonReader object) {
  PublishedRun run;
  run.set = object.at("set").string();
  run.name = object.at("name").string();
  run.model = model_of(object.at("config"));
  run.device = sheet_called(object.at("device"));
  run.tensor = count_at(object, "tensor");
  run.pipeline = count_at(object, "pipeline");
  run.context = count_at(object, "context");
  run.data = count_at(object, "data");
  run.chunks = count_at(object, "chunks");
  run.micro_batch_size = count_at(object, "micro_batch_size");
  run.global_batch = count_at(object, "global_batch");
  run.sequence_length = count_at(object, "sequence_length");
  if (const auto mode = object.get("recompute")) run.recompute = mode->string();
  if (const auto kernel = object.get("attention")) {
    run.attention = attention_named(kernel->string());
    if (!run.attention) kernel->expected("flash1, flash2, flash3, cudnn or eager");
  }
  if (const auto bytes = object.get("gradient_bytes")) {
    run.gradient_bytes = static_cast<int>(bytes->integer(2, 4));
  }
  if (const auto kernels = object.get("kernels")) {
    if (kernels->string() != "eager") kernels->expected("\"eager\"");
    run.eager_kernels = true;
  }
  if (const auto loss = object.get("loss")) {
    if (loss->string() != "eager") loss->expected("\"eager\"");
    run.loss = LossKind::kEager;
  }
  if (const auto divided = object.get("sequence_parallel")) {
    run.sequence_parallel = divided->boolean();
  }
  if (const auto trainer = object.get("trainer")) {
    const std::string name = trainer->string();
    if (name != "pytorch" && name != "deepspeed" && name != "own") {
      trainer->expected("pytorch, deepspeed or own");
    }
    run.of_other_trainer = true;
    run.sums_apart = name != "own";
    run.torch_collectives = name == "pytorch";
  }
  run.seconds = object.at("seconds").number(1e-6, 1e6);
  run.in_interval = !object.get("other_card_because");
  run.in_fit = run.in_interval && !object.get("left_out_because");
  if (const auto kind = object.get("sharding")) {
    const std::string name = kind->string();
    if (name != "fsdp" && name != "zero3") kind->expected("fsdp or zero3");
    run.sharding = name == "fsdp" ? Sharding::kFsdp : Sharding::kParameters;
  }
  if (object.has("shard_group")) run.shard_group = count_at(object, "shard_group");
  if (const auto rate = object.get("network_bytes_per_s")) {
    run.device.network = NodeNetwork{{rate->number(1e6, 1e13)}, run.device.node.source};
  }
  object.finish();
  return run;
}

EstimateRequest request_of(const PublishedRun& run) {
  EstimateRequest request;
  request.device = run.device.name;
  request.sequence_length = run.sequence_length;
  request.most_tensor_degree = run.tensor;
  request.attention = run.attention;
  request.gradient_bytes = run.gradient_bytes;
  request.eager_kernels = run.eager_kernels;
  request.loss = run.loss;
  request.sequence_parallel = run.sequence_parallel;
  request.sums_apart = run.sums_apart;
  request.torch_collectives = run.torch_collectives;
  request.context_degrees = {run.context};
  return request;
}

Plan plan_of(const PublishedRun& run) {
  Plan plan;
  plan.schedule = run.chunks > 1 ? "interleaved" : "1f1b";
  plan.pipeline = run.pipeline;
  plan.chunks = run.chunks;
  plan.tensor = run.tensor;
  plan.data = run.data;
  plan.context = run.context;
  plan.micro_batch_size = run.micro_batch_size;
  plan.global_batch = run.global_batch;
  plan.sequence_length = run.sequence_length;
  plan.recompute = run.recompute;
  plan.zero1 = plan.weight_copies() > 1;
  if (plan.zero1) {
    plan.sharding = run.sharding;
    plan.shard_group = run.shard_group;
  }
  plan.placement = Placement::kDataInner;
  plan.device = run.device.name;
  return plan;
}

}  // namespace

std::vector<PublishedRun> read_published_runs(const JsonReader& list) {
  std::vector<PublishedRun> runs;
  for (JsonReader& element : list.elements()) runs.push_back(read_run(std::move(element)));
  return runs;
}

PredictedRun predict_run(const PublishedRun& run, const Efficiency& efficiency) {
  const Estimate estimate = estimate_profile(run.model, run.device, efficiency, request_of(run));
  Plan plan = plan_of(run);
  plan.cuts = equal_layer_cuts(estimate.profile, plan.stages());
  const ClusterSpec cluster = default_cluster(run.device, plan.devices());
  PlanInputs inputs;
  inputs.profile = &estimate.profile;
  inputs.cluster = &cluster;
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.evaluation.ranks.empty()) {
    throw_bad_input(run.set + ", " + run.name + ": " +
                    (evaluated.why_not ? evaluated.why_not->reason : "no prediction"));
  }
  PredictedRun predicted;
  predicted.seconds = static_cast<double>(evaluated.evaluation.step_time.count()) * 1e-9;
  predicted.peak = evaluated.evaluation.peak_memory();
  predicted.capacity = evaluated.evaluation.ranks.front().capacity;
  return predicted;
}

std::string published_runs_table(const std::vector<PublishedRun>& runs,
                                 const Efficiency& efficiency, Screen screen) {
  TextTable table({left_column("set"), left_column("run"), right_column("TP"), right_column("PP"),
                   right_column("CP"), right_column("DP"), right_column("VP"), right_column("mbs"),
                   right_column("measured"), right_column("predicted"), right_column("error"),
                   right_column("GiB"), left_column("fits")});
  for (const PublishedRun& run : runs) {
    const PredictedRun predicted = predict_run(run, efficiency);
    const bool fits = predicted.peak.count <= predicted.capacity.count;
    table.add({run.set, run.name, std::to_string(run.tensor), std::to_string(run.pipeline),
               std::to_string(run.context), std::to_string(run.data), std::to_string(run.chunks),
               std::to_string(run.micro_batch_size), fmt::format("{:.3f} s", run.seconds),
               fmt::format("{:.3f} s", predicted.seconds),
               fmt::format("{:+.1f} %", 100.0 * (predicted.seconds / run.seconds - 1.0)),
               gib(predicted.peak), fits ? "yes" : "no"});
  }
  return table.text(screen.width());
}

}  // namespace penstock
