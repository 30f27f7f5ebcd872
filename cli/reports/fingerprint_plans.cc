// Two plans that reach what schedules alone do not: shared links, and cuts over device types of
// different speed with a short last micro-batch. All numbers are odd ones on purpose, so that a
// rounding in another place changes a digit. Nothing is read from files: the hash depends on the
// code alone.
#include "cli/reports/fingerprint_plans.h"

#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "search/contention.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr int kSections = 12;

Measurement measured_on(const char* device, int slower, int samples, int section) {
  Measurement m;
  m.device = device;
  m.micro_batch_size = samples;
  m.forward.median = Duration{(1'000'003 + 137'911 * section) * samples * slower};
  m.fused_backward = Timing{Duration{(2'000'017 + 291'107 * section) * samples * slower}, {}};
  m.stash = Bytes{(4'000'000 + 1'000 * section) * samples};
  m.boundary = Bytes{(1'000'000 + 77'777 * (section % 3)) * samples};
  return m;
}

// Uneven sections, twice as slow and a bit more on the second device type.
ModelProfile uneven_model() {
  ModelProfile model;
  model.name = "uneven";
  model.sources = {{"made", Origin::kAssumed, "made up for the fingerprint", ""}};
  for (int i = 0; i < kSections; ++i) {
    SectionType type;
    type.name = fmt::format("type{}", i);
    type.parameters = {{1, 10'000'000 + 123'457 * i}};
    for (const int samples : {1, 2}) {
      type.measurements.push_back(measured_on("fast", 5, samples, i));
      type.measurements.push_back(measured_on("slow", 11, samples, i));
    }
    model.section_types.push_back(std::move(type));
    model.sections.push_back({fmt::format("section{}", i), i});
  }
  return model;
}

// Two nodes of four fast devices, two of two slow ones; a node shares its way out.
ClusterSpec two_types() {
  ClusterSpec cluster;
  cluster.name = "two types";
  cluster.sources = {{"made", Origin::kAssumed, "made up for the fingerprint", ""}};
  cluster.device_types = {{"fast", Bytes{8'000'000'000}, Bytes{}, BytesPerSecond{1e12}, 0.0, 0},
                          {"slow", Bytes{2'500'000'000}, Bytes{}, BytesPerSecond{4e11}, 0.0, 0}};
  cluster.node_types = {{"four", 0, 4}, {"two", 1, 2}};
  cluster.nodes = {{0, 2}, {1, 2}};
  LinkLevel inside, network;
  inside.name = "inside";
  inside.devices = 2;
  inside.latency = Duration{3'001};
  inside.bandwidth = BytesPerSecond{40e9};
  network.name = "network";
  network.latency = Duration{20'011};
  network.bandwidth = BytesPerSecond{5e9};
  network.shared_bandwidth = BytesPerSecond{5e9};
  cluster.levels = {inside, network};
  return cluster;
}

EvaluatedPlan evaluated(const PlanInputs& inputs, const Plan& plan) {
  EvaluatedPlan result = evaluate_in_full(inputs, plan);
  if (result.why_not) throw Error(ErrorKind::kInternal, "fingerprint: " + result.why_not->reason);
  return result;
}

}  // namespace

std::string times_with_contention() {
  const ModelProfile model = uneven_model();
  const ClusterSpec cluster = two_types();
  const PlanInputs inputs{&model, &cluster, {}, {}};
  Plan plan;
  plan.device = "fast";
  plan.pipeline = 2;
  plan.data = 4;
  plan.global_batch = 26;
  plan.placement = Placement::kDataInner;
  const ContentionEffect effect =
      contention_of(to_plan_file(inputs, evaluated(inputs, plan)), cluster);
  std::string text =
      fmt::format("{} {} ", effect.step_time_alone.count(), effect.step_time.count());
  for (const LinkDelay& delay : effect.delays) {
    text += fmt::format("{} {} ", delay.link, delay.delay.count());
  }
  return text;
}

std::string times_of_mixed_plan() {
  const ModelProfile model = uneven_model();
  const ClusterSpec cluster = two_types();
  Plan plan;
  plan.pipeline = 3;
  plan.data = 2;
  plan.micro_batch_size = 2;
  plan.global_batch = 17;
  set_rank_devices(plan, {"slow", "slow", "fast"});
  const EvaluatedPlan mixed = evaluated({&model, &cluster, {}, {}}, plan);
  std::string text;
  for (const int cut : mixed.plan.cuts) text += fmt::format("{} ", cut);
  for (const SimTime end : mixed.timeline.end) {
    text += fmt::format("{} ", end.time_since_epoch().count());
  }
  return text;
}

}  // namespace penstock
