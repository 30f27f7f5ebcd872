#include "tests/runtime_bridge/ring_plans.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "search/evaluate.h"
#include "simulator/schedules/schedules.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;

Measurement measurement(const RingCosts& costs, int samples, const std::string& mode) {
  Measurement m;
  m.device = "toy";
  m.micro_batch_size = samples;
  m.recompute = mode;
  m.forward.median = milliseconds(costs.forward * samples);
  m.fused_backward = Timing{milliseconds(costs.backward * samples), Duration{}};
  if (mode == "full") m.recompute_time = m.forward;
  m.stash = m.weight_stash = m.working_peak = {1};
  m.boundary = {1000 * samples};
  return m;
}

ModelProfile profile_of(const RingModel& ring, const RingCosts& costs) {
  ModelProfile profile;
  profile.name = "ring";
  profile.sources = {{"paper", Origin::kAssumed, "", ""}};
  profile.training.optimizer_ps_per_parameter = 1'000'000;
  SectionType type;
  type.name = "section";
  type.parameters = {{1, 500}};
  for (const std::string mode : {"none", "full"}) {
    for (const int samples : {1, 8}) type.measurements.push_back(measurement(costs, samples, mode));
  }
  profile.section_types = {type};
  for (int k = 0; k < ring.sections; ++k) {
    profile.sections.push_back({"s" + std::to_string(k), 0});
  }
  for (const RingModel::Tie& tie : ring.ties) {
    TiedWeights tied;
    tied.name = tie.name;
    tied.parameters = {{1, 10}};
    for (const int k : tie.sections) tied.sections.emplace_back(k);
    profile.tied_weights.push_back(tied);
  }
  return profile;
}

ClusterSpec cluster_of(int devices, const RingCosts& costs) {
  ClusterSpec cluster;
  cluster.name = "toys";
  cluster.sources = {{"paper", Origin::kAssumed, "", ""}};
  DeviceType device;
  device.name = "toy";
  device.memory = {1'000'000'000};
  device.memory_bandwidth = {1e12};
  cluster.device_types = {device};
  cluster.node_types = {{"node", 0, devices}};
  cluster.nodes = {{0, 1}};
  LinkLevel level;
  level.name = "wire";
  level.bandwidth = {1e6 / static_cast<double>(std::max<std::int64_t>(1, costs.transfer))};
  cluster.levels = {level};
  return cluster;
}

}  // namespace

RingModel ring_model(int sections, bool tied) {
  RingModel model;
  model.sections = sections;
  if (tied) model.ties = {{"ends", {0, sections - 1}}, {"front", {0, 1}}};
  return model;
}

PlanFile ring_plan(const RingModel& model, Plan plan, const RingCosts& costs,
                   const ExecutorModel& executor) {
  const int stages = plan.stages_per_copy();
  plan.cuts.clear();
  for (int s = 0; s <= stages; ++s) plan.cuts.push_back(s * model.sections / stages);
  plan.device = "toy";
  const ModelProfile profile = profile_of(model, costs);
  const ClusterSpec cluster = cluster_of(plan.devices(), costs);
  PlanInputs inputs;
  inputs.profile = &profile;
  inputs.cluster = &cluster;
  inputs.executor = executor;
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  REQUIRE_MESSAGE(!evaluated.why_not, evaluated.why_not->reason);
  PlanFile file = to_plan_file(inputs, evaluated);
  file.description = ModelDescription{};
  return file;
}

Plan plan_of(const std::string& schedule, const RingShape& shape) {
  const ScheduleKind* kind = find_schedule(schedule);
  REQUIRE_MESSAGE(kind != nullptr, schedule);
  Plan plan;
  plan.schedule = schedule;
  plan.pipeline = shape.pipeline;
  plan.stage_map = kind->map;
  plan.chunks =
      kind->most_chunks == 0 ? std::max(shape.chunks, kind->fewest_chunks) : kind->fewest_chunks;
  plan.data = shape.data;
  plan.global_batch = shape.data * shape.micro_batches;
  return plan;
}

std::vector<RingStep> plain_steps(const RingModel& model, const PlanFile& file, int steps) {
  const bool normed = std::ranges::any_of(
      file.program.actions, [](const Action& action) { return action.kind == ActionKind::kNorm; });
  std::vector<RingStep> done;
  RingWeights weights = first_weights(model);
  for (int step = 0; step < steps; ++step) {
    done.push_back(plain_step(model, weights, step, file.plan.global_batch, normed));
    weights = done.back().weights;
  }
  return done;
}

}  // namespace penstock::testing
