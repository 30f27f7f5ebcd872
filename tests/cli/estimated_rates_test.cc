// A step that is estimated from sizes and rates, as the rates change: none that is faster makes it
// longer, a slower link makes what crosses it longer, and rates twice as high, with half the fixed
// times, halve it.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/options/layout.h"
#include "core/values/json_reader.h"
#include "estimator/default_cluster.h"
#include "estimator/estimate_profile.h"
#include "estimator/shipped_data.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

struct World {
  DeviceSheet device;
  Efficiency efficiency = shipped_efficiency();
  ClusterSpec cluster;
};

World world_of(int devices) {
  World world;
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called("h100-sxm")) world.device = std::move(sheet);
  }
  world.cluster = default_cluster(world.device, devices);
  return world;
}

struct RatedLayout {
  std::string name, model;
  int tensor = 1, pipeline = 1, context = 1, expert = 1, data = 1;
  Sharding sharding = Sharding::kState;
};

// On two nodes of eight. Each has a kind of traffic of its own.
const std::vector<RatedLayout> kLayouts{
    {"TP, PP, ZeRO-1", "llama-3-8b", 4, 2, 1, 1, 2},
    {"CP between nodes", "llama-3-8b", 1, 1, 16, 1, 1},
    {"FSDP", "llama-3-8b", 1, 1, 1, 1, 16, Sharding::kFsdp},
    {"EP", "qwen3-30b", 1, 1, 1, 16, 16},
};

double seconds(const RatedLayout& layout, const World& world) {
  const std::string path = "data/models/" + layout.model + ".json";
  const Architecture model = read_architecture(parse_json(read_file(path), path), path);
  EstimateRequest request;
  request.sequence_length = 8192;
  request.samples = {1};
  request.most_tensor_degree = layout.tensor;
  request.context_degrees = {layout.context};
  request.expert_degrees = {layout.expert};
  const Estimate estimate = estimate_profile(model, world.device, world.efficiency, request);
  Plan plan;
  plan.schedule = "1f1b";
  plan.pipeline = layout.pipeline;
  plan.tensor = layout.tensor;
  plan.context = layout.context;
  plan.expert = layout.expert;
  plan.data = layout.data;
  plan.micro_batch_size = 1;
  plan.global_batch = 4 * layout.data;
  plan.sequence_length = 8192;
  plan.recompute = "none";
  plan.zero1 = plan.weight_copies() > 1;
  if (plan.zero1) plan.sharding = layout.sharding;
  plan.placement = Placement::kDataInner;
  plan.device = world.device.name;
  plan.cuts = equal_layer_cuts(estimate.profile, plan.stages());
  PlanInputs inputs;
  inputs.profile = &estimate.profile;
  inputs.cluster = &world.cluster;
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  REQUIRE_MESSAGE(!evaluated.evaluation.ranks.empty(),
                  (evaluated.why_not ? evaluated.why_not->reason : layout.name));
  return static_cast<double>(evaluated.evaluation.step_time.count()) * 1e-9;
}

struct Rate {
  std::string name;
  std::function<void(World&, double)> scale;
};

const std::vector<Rate> kRates{
    {"peak",
     [](World& world, double by) {
       for (PeakRate& peak : world.device.peaks) peak.flops_per_s *= by;
     }},
    {"memory bandwidth",
     [](World& world, double by) {
       world.device.memory_bandwidth.value *= by;
       for (DeviceType& type : world.cluster.device_types) type.memory_bandwidth.value *= by;
     }},
    {"NVLink", [](World& world, double by) { world.cluster.levels[0].bandwidth.value *= by; }},
    {"network", [](World& world, double by) { world.cluster.levels[1].bandwidth.value *= by; }}};

TEST_CASE("no rate that is higher makes a step longer") {
  for (const RatedLayout& layout : kLayouts) {
    for (const Rate& rate : kRates) {
      double before = 0.0;
      for (const double by : {0.1, 0.5, 1.0, 1.5, 10.0}) {
        World world = world_of(16);
        rate.scale(world, by);
        const double now = seconds(layout, world);
        INFO(layout.name << ", " << rate.name << " x " << by);
        if (before > 0.0) CHECK(now <= before + 1e-6);
        before = now;
      }
    }
  }
}

TEST_CASE("a tenth of the link that its traffic crosses makes a step longer") {
  const auto slowed = [](const RatedLayout& layout, const Rate& rate) {
    World world = world_of(16);
    const double before = seconds(layout, world);
    rate.scale(world, 0.1);
    return seconds(layout, world) / before;
  };
  CHECK(slowed(kLayouts[0], kRates[2]) > 1.5);  // TP inside the node
  CHECK(slowed(kLayouts[1], kRates[3]) > 1.1);  // the ring between nodes
  CHECK(slowed(kLayouts[2], kRates[3]) > 1.5);  // gathers over 16 devices
  CHECK(slowed(kLayouts[3], kRates[3]) > 1.5);  // tokens to experts
}

// Whole nanoseconds are rounded up, a few for every action.
TEST_CASE("twice all rates and half of all fixed times halve a step") {
  for (const RatedLayout& layout : kLayouts) {
    World world = world_of(16);
    const double before = seconds(layout, world);
    for (const Rate& rate : kRates) rate.scale(world, 2.0);
    for (LinkLevel& level : world.cluster.levels) level.latency /= 2;
    for (EfficiencyCurve& curve : world.efficiency.curves) {
      curve.terms.routing_s /= 2.0;
      curve.terms.forward_floor_s /= 2.0;
      curve.terms.backward_floor_s /= 2.0;
    }
    INFO(layout.name);
    CHECK(std::abs(seconds(layout, world) / before - 0.5) < 1e-4);
  }
}

}  // namespace
}  // namespace penstock
