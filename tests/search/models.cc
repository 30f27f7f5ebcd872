#include "tests/search/models.h"

#include <utility>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/files/format.h"
#include "core/values/json_reader.h"

namespace penstock::testing {

ModelProfile model_of_sections(const std::vector<Costs>& sections, int most_samples) {
  ModelProfile model;
  model.name = "toy";
  model.sources = {{"run", Origin::kMeasured, "", ""}};
  model.training.bytes_per_parameter = {1};
  model.training.bytes_per_gradient = {1};
  model.training.optimizer_bytes_per_parameter = {2};
  model.training.optimizer_ps_per_parameter = 0;
  for (const Costs& costs : sections) {
    SectionType type;
    type.name = "type" + std::to_string(model.sections.size());
    type.parameters = {{1, costs.parameters}};
    for (const int b : {1, most_samples}) {
      Measurement m;
      m.device = "gpu";
      m.micro_batch_size = b;
      m.forward.median = Duration{1000 * costs.forward_us * b};
      m.fused_backward = Timing{Duration{1000 * costs.backward_us * b}, Duration{}};
      m.stash = {costs.stash * b};
      m.weight_stash = {costs.stash * b / 2};
      m.working_peak = {costs.working * b};
      m.boundary = {costs.boundary * b};
      type.measurements.push_back(m);
      if (most_samples == 1) break;
    }
    model.sections.push_back({"s" + std::to_string(model.sections.size()),
                              static_cast<int>(model.section_types.size())});
    model.section_types.push_back(std::move(type));
  }
  return model;
}

ClusterSpec cluster_of(const ClusterShape& shape) {
  ClusterSpec cluster;
  cluster.name = "toys";
  cluster.sources = {{"run", Origin::kMeasured, "", ""}};
  DeviceType device;
  device.name = "gpu";
  device.memory = {shape.memory};
  device.memory_bandwidth = {1e12};
  cluster.device_types = {device};
  cluster.node_types = {{"node", 0, shape.per_node}};
  cluster.nodes = {{0, shape.nodes}};
  LinkLevel inside, between;
  inside.name = "inside";
  inside.devices = shape.per_node;
  between.name = "between";
  inside.bandwidth = between.bandwidth = {shape.bandwidth};
  cluster.levels = {inside, between};
  return cluster;
}

namespace {

Measurement random_measurement(Random& random, int tensor, const std::string& mode, int samples) {
  Measurement m;
  m.device = "gpu";
  m.tensor_degree = tensor;
  m.recompute = mode;
  m.micro_batch_size = samples;
  const auto some = [&](int low, int high) {
    return (std::int64_t{random.between(low, high)} * samples + random.between(0, 3)) / tensor;
  };
  m.forward.median = Duration{some(1, 20) * 1000};
  m.fused_backward = Timing{Duration{some(1, 40) * 1000}, Duration{}};
  m.weight_gradient_share = 0.1 * random.between(0, 10);
  if (mode != "none") m.recompute_time.median = Duration{some(0, 20) * 1000};
  m.stash = {some(0, mode == "none" ? 60 : 10)};
  m.weight_stash = {some(0, 30)};
  m.working_peak = {some(0, 30)};
  m.boundary = {std::int64_t{random.between(0, 8)} * samples};
  return m;
}

SectionType random_type(Random& random, const std::string& name,
                        const std::vector<int>& tensor_degrees,
                        const std::vector<std::string>& modes) {
  SectionType type;
  type.name = name;
  const std::int64_t parameters = random.between(16, 80);
  for (const int tensor : tensor_degrees) {
    type.parameters.push_back({tensor, parameters / tensor});
    for (const std::string& mode : modes) {
      for (const int samples : {1, 2, 4}) {
        type.measurements.push_back(random_measurement(random, tensor, mode, samples));
      }
    }
  }
  return type;
}

}  // namespace

ModelProfile random_model(Random& random, int sections) {
  ModelProfile model;
  model.name = "random";
  model.sources = {{"run", Origin::kMeasured, "", ""}};
  if (random.coin()) model.training.optimizer_ps_per_parameter = 1'000'000;
  const std::vector<int> tensor_degrees =
      random.coin() ? std::vector<int>{1} : std::vector<int>{1, 2};
  const std::vector<std::string> modes =
      random.coin() ? std::vector<std::string>{"none"} : std::vector<std::string>{"none", "full"};
  const int types = random.between(1, 3);
  for (int t = 0; t < types; ++t) {
    model.section_types.push_back(
        random_type(random, "type" + std::to_string(t), tensor_degrees, modes));
  }
  for (int s = 0; s < sections; ++s) {
    model.sections.push_back({"s" + std::to_string(s), random.between(0, types - 1)});
  }
  if (sections > 1 && random.coin()) {
    TiedWeights tied;
    tied.name = "embedding";
    tied.sections = {SectionId{0}, SectionId{sections - 1}};
    for (const int tensor : tensor_degrees) tied.parameters.push_back({tensor, 8 / tensor});
    model.tied_weights.push_back(tied);
  }
  return model;
}

ClusterSpec random_cluster(Random& random, int nodes, int per_node) {
  ClusterSpec cluster = cluster_of({nodes, per_node, 0, 1e6 * random.between(1, 100)});
  DeviceType& device = cluster.device_types[0];
  device.memory = {random.between(800, 6000)};
  device.reserve = {random.between(0, 50)};
  device.memory_bandwidth = {1e9};
  if (random.coin()) device.usd_per_hour = 2.0;
  for (LinkLevel& level : cluster.levels) level.latency = Duration{random.between(0, 5000)};
  cluster.levels[1].bandwidth.value /= random.between(1, 10);
  if (random.coin()) cluster.levels[1].shared_bandwidth = cluster.levels[1].bandwidth;
  return cluster;
}

ModelProfile also_on(ModelProfile model, const std::string& device, int slower) {
  for (SectionType& type : model.section_types) {
    const std::vector<Measurement> measured = type.measurements;
    for (Measurement m : measured) {
      if (m.device != "gpu") continue;
      m.device = device;
      m.forward.median *= slower;
      m.recompute_time.median *= slower;
      for (auto* time : {&m.input_gradient, &m.weight_gradient, &m.fused_backward}) {
        if (*time) (*time)->median *= slower;
      }
      type.measurements.push_back(std::move(m));
    }
  }
  return model;
}

ModelProfile random_model_on_two(Random& random, Drawn sections, Drawn slower) {
  const int times = random.between(slower.least, slower.most);
  const int count = random.between(sections.least, sections.most);
  return also_on(random_model(random, count), "old", times);
}

void add_nodes(ClusterSpec& cluster, const std::string& device, int nodes, int per_node,
               std::int64_t memory) {
  DeviceType type = cluster.device_types[0];
  type.name = device;
  type.memory = {memory};
  cluster.device_types.push_back(type);
  cluster.node_types.push_back(
      {"node of " + device, static_cast<int>(cluster.device_types.size()) - 1, per_node});
  cluster.nodes.push_back({static_cast<int>(cluster.node_types.size()) - 1, nodes});
}

SectionSums sums_of(const ModelProfile& model, int samples) {
  return sum_sections(model, ClusterSpec{}, "gpu", 1, samples, 0, "none");
}

const ModelProfile& gpt() {
  static const std::string path = "data/profiles/gpt-6.7b.a100-40gb.json";
  static const ModelProfile model = read_profile(parse_json(read_file(path), path), path);
  return model;
}

const ClusterSpec& p4d() {
  static const std::string path = "data/clusters/a100-40gb-p4d-8x8.json";
  static const ClusterSpec cluster = read_cluster(parse_json(read_file(path), path), path);
  return cluster;
}

SearchResult search(const ModelProfile& model, const ClusterSpec& cluster,
                    const SearchRequest& request, const ExecutorModel& executor) {
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  inputs.executor = executor;
  SearchProgress silent;
  return best_plans(inputs, request, silent);
}

std::vector<Ranked> all_of(const std::vector<RankedPlan>& plans) {
  std::vector<Ranked> all;
  for (const RankedPlan& p : plans) {
    all.push_back({p.plan, p.evaluation, p.tied_with_best, p.on_pareto_front, p.placed});
  }
  return all;
}

std::int64_t rejected_in_all(const SearchResult& result) {
  std::int64_t sum = 0;
  for (const Rejection& why : result.rejected) sum += why.candidates;
  return sum;
}

std::vector<const ScheduleKind*> static_kinds() {
  std::vector<const ScheduleKind*> kinds;
  for (const ScheduleKind& kind : schedule_kinds()) {
    const bool needs_shape_only = !kind.is_automatic() && kind.rule == RunTimeRule::kNone;
    if (needs_shape_only && !kind.has_slices) kinds.push_back(&kind);
  }
  return kinds;
}

const ScheduleKind& random_static_kind(Random& random) {
  const auto kinds = static_kinds();
  return *kinds[static_cast<std::size_t>(random.between(0, static_cast<int>(kinds.size()) - 1))];
}

void set_schedule(Plan& plan, const ScheduleKind& kind, int chunks) {
  plan.schedule = kind.name;
  plan.stage_map = kind.map;
  plan.chunks = kind.most_chunks == 0 ? chunks : kind.fewest_chunks;
}

namespace {

void check_plan(const PlanInputs& inputs, const RankedPlan& ranked) {
  CAPTURE(ranked.plan.schedule);
  CAPTURE(ranked.plan.pipeline);
  CAPTURE(ranked.plan.data);
  const EvaluatedPlan again = evaluate(inputs, ranked.plan);
  CHECK_FALSE(again.why_not);
  CHECK(again.evaluation == ranked.evaluation);
  Plan uncut = ranked.plan;
  uncut.cuts.clear();
  const EvaluatedPlan plain = evaluate(inputs, uncut);  // before its cuts were improved
  // Without cuts a mode is in all sections, which in random models may be the faster plan.
  const bool divides = !ranked.plan.recompute_sections.empty();
  if (!plain.why_not && !divides) {
    CHECK(ranked.evaluation.step_time <= plain.evaluation.step_time);
  }
  for (const RankEvaluation& rank : ranked.evaluation.ranks) {
    CHECK(rank.memory.total() <= rank.capacity);
  }
  const PlanFile file = to_plan_file(inputs, again);
  // The rolled-up way against the replayed one, idle causes and memory included.
  const Evaluation replayed = replay_plan_file(file).evaluation;
  CHECK(replayed.ranks == again.evaluation.ranks);
  CHECK(replayed.step_time == again.evaluation.step_time);
  const CheckReport report = check(file);
  for (const Finding& finding : report.findings) {
    FAIL_CHECK(finding.place << ": " << finding.message);
  }
}

}  // namespace

void check_result(const ModelProfile& model, const ClusterSpec& cluster, const SearchResult& result,
                  const ExecutorModel& executor) {
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  inputs.executor = executor;
  if (result.complete) {
    CHECK(result.candidates == result.evaluated + result.bounded + rejected_in_all(result));
  }
  for (const RankedPlan& ranked : result.best) check_plan(inputs, ranked);
  for (const RankedPlan& ranked : result.pareto) check_plan(inputs, ranked);
}

}  // namespace penstock::testing
