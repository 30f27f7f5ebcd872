#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/files/batch_file.h"
#include "core/files/plan_format.h"
#include "core/files/plan_parts.h"
#include "core/files/program_file.h"
#include "core/files/read_known_program.h"
#include "core/values/plan_file.h"
#include "core/values/plan_words.h"
#include "core/values/recompute_sections.h"

namespace penstock {
namespace {

constexpr int kMostInt = std::numeric_limits<int>::max();
constexpr double kMostUsdPerHour = 1e9;
constexpr double kMostFlops = 1e30;
constexpr double kMostUsdPerStep = std::numeric_limits<double>::max();

int read_int(const JsonReader& reader, int least, int most = kMostInt) {
  return static_cast<int>(reader.integer(least, most));
}

std::vector<int> read_ints(const JsonReader& reader, int least, int most) {
  std::vector<int> values;
  for (const JsonReader& element : reader.elements()) {
    values.push_back(read_int(element, least, most));
  }
  return values;
}

std::vector<std::string> read_strings(const JsonReader& reader) {
  std::vector<std::string> values;
  for (const JsonReader& element : reader.elements()) values.push_back(element.string());
  return values;
}

Price read_price(JsonReader& reader, const std::string& stem) {
  Price price;
  price.duration = reader.duration(stem);
  price.spread = reader.get_duration(stem + "_spread").value_or(Duration{});
  return price;
}

InputFile read_input(JsonReader reader) {
  InputFile input{reader.at("path").string(), reader.at("hash").string()};
  reader.finish();
  return input;
}

void read_inputs(JsonReader reader, PlanFile& file) {
  file.profile = read_input(reader.at("profile"));
  file.cluster_file = read_input(reader.at("cluster"));
  reader.finish();
}

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
  read_sizes(reader, plan);
  plan.recompute = reader.at("recompute").string();
  plan.zero1 = reader.at("zero1").boolean();
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

namespace {

// `stages` is for people; someone who edits it must not believe that it counts.
void require_stages_agree(const JsonReader& reader, const PlanFile& file) {
  const std::vector<JsonReader> stages = reader.elements();
  if (stages.size() != static_cast<std::size_t>(file.plan.stages())) {
    reader.fail("expected " + std::to_string(file.plan.stages()) +
                " stages, as the cuts say, got " + std::to_string(stages.size()));
  }
  for (int s = 0; s < file.plan.stages(); ++s) {
    JsonReader stage = stages[static_cast<std::size_t>(s)];
    const auto first = static_cast<std::size_t>(file.plan.first_section(s));
    const auto end = static_cast<std::size_t>(file.plan.end_section(s));
    const auto require = [&](std::string_view key, const Json& expected) {
      const JsonReader found = stage.at(key);
      if (found.value() == expected) return;
      found.expected(to_text(expected) + ", as 'plan' says (change its cuts, not this)");
    };
    require("index", s);
    require("rank", file.plan.rank_of(s));
    require("first_section", file.section_names[first]);
    require("last_section", file.section_names[end - 1]);
    require("sections", static_cast<int>(end - first));
    stage.finish();
  }
}

PlanDevice read_device(JsonReader reader) {
  PlanDevice device;
  device.name = reader.at("name").string();
  device.memory = reader.at("memory_per_device_bytes").bytes();
  device.reserve = reader.at("reserve_bytes").bytes();
  device.usd_per_hour = reader.at("usd_per_hour").number(0.0, kMostUsdPerHour);
  device.per_node = read_int(reader.at("devices_per_node"), 1);
  reader.finish();
  return device;
}

// Those that 'plan' names beside its first, in order.
void require_devices_agree(const JsonReader& reader, const PlanCluster& cluster, const Plan& plan) {
  const std::vector<std::string> types = plan.device_types();
  bool agree = cluster.other_devices.size() + 1 == types.size();
  for (std::size_t i = 1; agree && i < types.size(); ++i) {
    agree = cluster.other_devices[i - 1].name == types[i];
  }
  if (agree) return;
  std::string wanted;
  for (std::size_t i = 1; i < types.size(); ++i) wanted += " '" + types[i] + "'";
  reader.fail("expected \"other_devices\" to be" + (wanted.empty() ? " absent" : ":" + wanted) +
              ", the types of '" +
              (plan.has_unequal_replicas() ? "replica_kinds" : "rank_devices") +
              "' after the first");
}

PlanCluster read_cluster_part(JsonReader reader, const Plan& plan) {
  const int stages = plan.stages();
  PlanCluster cluster;
  cluster.name = reader.at("name").string();
  cluster.device = reader.at("device").string();
  cluster.memory_per_device = reader.at("memory_per_device_bytes").bytes();
  cluster.reserve = reader.at("reserve_bytes").bytes();
  cluster.usd_per_hour = reader.at("usd_per_hour").number(0.0, kMostUsdPerHour);
  cluster.devices_per_node = read_int(reader.at("devices_per_node"), 1);
  if (const auto devices = reader.get("other_devices")) {
    for (const JsonReader& device : devices->elements()) {
      cluster.other_devices.push_back(read_device(device));
    }
  }
  require_devices_agree(reader, cluster, plan);
  cluster.levels = read_strings(reader.at("levels"));
  const JsonReader boundary_level = reader.at("boundary_level");
  cluster.boundary_level =
      read_ints(boundary_level, -1, static_cast<int>(cluster.levels.size()) - 1);
  if (cluster.boundary_level.size() + 1 != static_cast<std::size_t>(stages)) {
    boundary_level.fail("expected " + std::to_string(stages - 1) +
                        " levels, one less than stages, got " +
                        std::to_string(cluster.boundary_level.size()));
  }
  reader.finish();
  return cluster;
}

std::vector<PlanTie> read_ties(const JsonReader& reader, int stages) {
  std::vector<PlanTie> ties;
  for (JsonReader tie : reader.elements()) {
    const JsonReader tied = tie.at("stages");
    ties.push_back({tie.at("name").string(), read_ints(tied, 0, stages - 1)});
    const std::vector<int>& of_tie = ties.back().stages;
    bool ascending = of_tie.size() >= 2;
    for (std::size_t i = 1; i < of_tie.size(); ++i) ascending &= of_tie[i - 1] < of_tie[i];
    if (!ascending) tied.expected("at least two stages in ascending order");
    tie.finish();
  }
  return ties;
}

}  // namespace

ExecutorModel read_executor(JsonReader reader) {
  ExecutorModel executor;
  executor.name = reader.at("name").string();
  executor.transfer = read_word(reader.at("transfer"), kTransferWords);
  executor.queues = read_word(reader.at("queues"), kQueueWords);
  executor.receive_must_be_posted = reader.at("receive_must_be_posted").boolean();
  executor.issue = read_word(reader.at("issue"), kIssueWords);
  executor.optimizer = read_word(reader.at("optimizer"), kOptimizerWords);
  if (const auto link = reader.get("host_link")) {
    executor.host_link = read_word(*link, kHostLinkWords);
  }
  executor.per_action = reader.duration("per_action");
  executor.per_transfer = reader.duration("per_transfer");
  executor.per_step = reader.duration("per_step");
  reader.finish();
  return executor;
}

namespace {

void read_shape(JsonReader reader, StagePrices& prices) {
  ComputePrice compute;
  compute.forward = read_price(reader, "forward");
  compute.input_gradient = read_price(reader, "input_gradient");
  compute.weight_gradient = read_price(reader, "weight_gradient");
  compute.fused_backward = read_price(reader, "fused_backward");
  compute.recompute = read_price(reader, "recompute");
  compute.overlap_gain = reader.duration("overlap_gain");
  compute.stash = reader.at("stash_bytes").bytes();
  compute.weight_stash = reader.at("weight_stash_bytes").bytes();
  compute.working_peak = reader.at("working_peak_bytes").bytes();
  compute.boundary = reader.at("boundary_bytes").bytes();
  prices.compute.push_back(compute);
  TransferPrice transfer;
  transfer.activation = read_price(reader, "send_activation");
  transfer.gradient = read_price(reader, "receive_gradient");
  prices.transfer.push_back(transfer);
  reader.finish();
}

void read_stage_prices(JsonReader reader, StagePrices& prices) {
  StepPrice step;
  step.parameters = reader.at("parameters_bytes").bytes();
  step.gradients = reader.at("gradients_bytes").bytes();
  step.optimizer_state = reader.at("optimizer_state_bytes").bytes();
  step.reduce_gradient = read_price(reader, "reduce_gradient");
  step.optimizer = read_price(reader, "optimizer");
  step.unshard = read_price(reader, "unshard");
  if (reader.has("load_bytes")) {
    step.load = read_price(reader, "load");
    step.store = read_price(reader, "store");
    step.loaded = reader.at("load_bytes").bytes();
    step.stored = reader.at("store_bytes").bytes();
  }
  prices.step.push_back(step);
  const JsonReader list = reader.at("shapes");
  const std::vector<JsonReader> shapes = list.elements();
  if (prices.step.size() == 1) prices.shapes = static_cast<int>(shapes.size());
  if (shapes.empty() || static_cast<int>(shapes.size()) != prices.shapes) {
    list.expected("as many shapes as the first stage has, at least one");
  }
  for (const JsonReader& shape : shapes) read_shape(shape, prices);
  reader.finish();
}

StagePrices read_prices(JsonReader reader, const PlanFile& file) {
  StagePrices prices;
  prices.stages = file.plan.stages();
  const JsonReader list = reader.at("stages");
  const std::vector<JsonReader> stages = list.elements();
  if (static_cast<int>(stages.size()) != prices.stages) {
    list.expected("prices of " + std::to_string(prices.stages) + " stages");
  }
  for (const JsonReader& stage : stages) read_stage_prices(stage, prices);
  const JsonReader ties = reader.at("ties");
  std::vector<JsonReader> of_ties = ties.elements();
  if (of_ties.size() != file.ties.size()) {
    ties.expected("prices of " + std::to_string(file.ties.size()) + " ties");
  }
  for (std::size_t k = 0; k < of_ties.size(); ++k) {
    prices.tied_reduce.push_back({file.ties[k].name, read_price(of_ties[k], "tied_reduce")});
    of_ties[k].finish();
  }
  prices.norm = read_price(reader, "norm");
  reader.finish();
  return prices;
}

MemoryUse read_memory(JsonReader reader) {
  MemoryUse memory;
  for (const auto& [key, part] : kMemoryKeys) {
    memory.*part = reader.at(std::string(key) + "_bytes").bytes();
  }
  reader.finish();
  return memory;
}

RankTime read_rank_time(JsonReader reader) {
  RankTime time;
  for (const auto& [key, part] : kRankTimeKeys) time.*part = reader.duration(key);
  reader.finish();
  return time;
}

Evaluation read_prediction(JsonReader reader, int ranks) {
  Evaluation prediction;
  prediction.step_time = reader.duration("step_time");
  prediction.step_time_low = reader.duration("step_time_low");
  prediction.step_time_high = reader.duration("step_time_high");
  if (prediction.step_time < prediction.step_time_low ||
      prediction.step_time > prediction.step_time_high) {
    reader.fail("step_time must lie between step_time_low and step_time_high");
  }
  prediction.makespan = reader.duration("makespan");
  prediction.longest_span = reader.duration("longest_span");
  prediction.ideal = reader.duration("ideal");
  // Files of before 2026-11-23 call it otherwise.
  const char* cost = reader.has("usd_per_step") ? "usd_per_step" : "cost_usd_per_step";
  prediction.usd_per_step = reader.at(cost).number(0.0, kMostUsdPerStep);
  const JsonReader list = reader.at("ranks");
  for (JsonReader rank : list.elements()) {
    prediction.ranks.push_back({read_memory(rank.at("memory")), rank.at("capacity_bytes").bytes(),
                                read_rank_time(rank.at("time"))});
    rank.finish();
  }
  if (static_cast<int>(prediction.ranks.size()) != ranks) {
    list.expected("one entry for each of the " + std::to_string(ranks) +
                  " pipeline ranks (of unequal replicas those of every kind)");
  }
  for (JsonReader assumption : reader.at("assumptions").elements()) {
    prediction.assumptions.push_back(
        {assumption.at("text").string(), assumption.at("share").number(0.0, 1.0)});
    assumption.finish();
  }
  reader.finish();
  return prediction;
}

// The tables of the Program are those of the plan and its prices.
void require_tables_agree(const JsonReader& program, const PlanFile& file) {
  for (const Pipeline& pipeline : file.program.pipelines) {
    if (pipeline.stages == file.plan.stages() && pipeline.ranks == file.plan.pipeline &&
        pipeline.copies == file.plan.copies()) {
      continue;
    }
    program.fail("every pipeline must have the " + std::to_string(file.plan.pipeline) +
                 " ranks and " + std::to_string(file.plan.stages()) + " stages of 'plan', in " +
                 std::to_string(file.plan.copies()) +
                 (file.plan.copies() > 1 ? " copies of the weights" : " copy of the weights"));
  }
  const auto kinds = static_cast<std::size_t>(file.plan.kinds());
  if (file.plan.has_unequal_replicas() && file.program.pipelines.size() != kinds) {
    program.fail("expected a pipeline for each of the " + std::to_string(kinds) +
                 " 'replica_kinds', got " + std::to_string(file.program.pipelines.size()));
  }
  if (file.plan.has_unequal_replicas() || !file.plan.has_even_batch()) {
    const std::size_t shapes = micro_batch_shapes(file.plan).size();
    if (static_cast<std::size_t>(file.prices.shapes) != shapes) {
      program.fail(std::string(file.plan.has_even_batch() ? "the 'replica_kinds' have "
                                                          : "the 'batch' has ") +
                   std::to_string(shapes) + " micro-batch shapes, but there are prices of " +
                   std::to_string(file.prices.shapes));
    }
  }
  for (const MicroBatch& micro_batch : file.program.micro_batches) {
    if (micro_batch.shape < file.prices.shapes) continue;
    program.fail("a micro-batch has shape " + std::to_string(micro_batch.shape) +
                 ", but there are prices of " + std::to_string(file.prices.shapes) + " shapes");
  }
}

}  // namespace

namespace {

// Each device type of the plan at most once; those without a known peak are left out.
ModelFlops read_flops(JsonReader reader, const Plan& plan) {
  ModelFlops flops;
  flops.per_sample = reader.at("per_sample").number(1.0, kMostFlops);
  flops.convention = read_word(reader.at("convention"), kFlopConventionWords);
  std::vector<std::string> unknown = plan.device_types();
  for (JsonReader peak : reader.at("peaks").elements()) {
    const JsonReader device = peak.at("device");
    const auto found = std::find(unknown.begin(), unknown.end(), device.string());
    if (found == unknown.end()) {
      device.expected("a device type of the plan, each once");
    }
    unknown.erase(found);
    flops.peaks.emplace_back(device.string(), peak.at("flops_per_s").number(1.0, kMostFlops));
    peak.finish();
  }
  reader.finish();
  return flops;
}

PlanFile read(const Json& json, const std::string& file_name, std::uint64_t most_actions,
              const IsKnownProgram& is_known) {
  JsonReader reader(json, file_name);
  const JsonReader format = reader.at("format");
  const bool is_first = format.string() == kPlanFormat1;
  if (!is_plan_format(format.string())) {
    format.expected('"' + std::string(kPlanFormat) + "\" or \"" + std::string(kPlanFormat1) + '"');
  }
  PlanFile file;
  file.model = reader.at("model").string();
  if (auto description = reader.get("description")) {
    file.description = read_description(std::move(*description));
  }
  file.tool_version = reader.at("tool_version").string();
  read_inputs(reader.at("inputs"), file);
  const JsonReader sections = reader.at("sections");
  file.section_names = read_strings(sections);
  if (file.section_names.empty()) sections.expected("at least one section");
  file.plan = read_decisions(reader.at("plan"), static_cast<int>(file.section_names.size()));
  require_stages_agree(reader.at("stages"), file);
  file.cluster = read_cluster_part(reader.at("cluster"), file.plan);
  file.ties = read_ties(reader.at("ties"), file.plan.stages());
  file.executor = read_executor(reader.at("executor"));
  if (auto calibration = reader.get("calibration")) {
    // Its device need not be the plan's: prices of others stay as they are.
    file.calibration = read_calibration(std::move(*calibration), [](const JsonReader&) {});
  }
  if (auto flops = reader.get("flops")) {
    if (!file.plan.has_even_batch()) {
      flops->fail(
          "they are of samples of one length, and those of 'batch' may differ; leave this key out");
    }
    file.flops = read_flops(std::move(*flops), file.plan);
  }
  file.prices = read_prices(reader.at("prices"), file);
  if (is_first && !file.plan.has_even_batch()) {
    format.fail("a plan with a 'batch' is \"" + std::string(kPlanFormat) + '"');
  }
  const JsonReader program = reader.at("program");
  const ProgramForm form = is_first ? ProgramForm::kWithLossWeights : ProgramForm::kNow;
  if (is_known &&
      is_known(file, is_first ? without_loss_weights(program.value()) : program.value())) {
    file.program.schedule = file.plan.schedule;
  } else {
    file.program = read_program(program, most_actions, form);
    require_tables_agree(program, file);
  }
  file.prediction = read_prediction(reader.at("prediction"), file.plan.listed_ranks());
  file.not_searched = read_strings(reader.at("not_searched"));
  reader.finish();
  return file;
}

}  // namespace

PlanFile read_plan(const Json& json, const std::string& file, std::uint64_t most_actions) {
  return read(json, file, most_actions, nullptr);
}

PlanFile read_plan_unless_known(const Json& json, const std::string& file,
                                const IsKnownProgram& is_known) {
  return read(json, file, kMostActions, is_known);
}

}  // namespace penstock
