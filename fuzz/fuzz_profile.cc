// penstock.profile/1: what is accepted can be planned with.
#include <algorithm>
#include <limits>

#include "core/files/format.h"
#include "fuzz/fuzz.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

using fuzz::require;

bool in_range(int index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

void check_timing(const Timing& timing) {
  require(timing.median >= Duration{} && timing.spread >= Duration{}, "a negative time");
  require(timing.median <= kLongestDuration && timing.spread <= kLongestDuration,
          "an endless time");
}

void check_measurement(const Measurement& m, std::size_t sources) {
  check_timing(m.forward);
  check_timing(m.recompute_time);
  for (const auto& timing : {m.input_gradient, m.weight_gradient, m.fused_backward}) {
    if (timing) check_timing(*timing);
  }
  require(m.fused_backward || (m.input_gradient && m.weight_gradient), "there is no backward");
  for (const Bytes bytes : {m.stash, m.weight_stash, m.working_peak, m.boundary}) {
    require(bytes >= Bytes{}, "negative bytes");
  }
  require(m.tensor_degree >= 1 && m.micro_batch_size >= 1 && m.sequence_length >= 0, "the key");
  require(in_range(m.time_source, sources) && in_range(m.split_source, sources) &&
              in_range(m.memory_source, sources),
          "a source that does not exist");
}

void check_profile(const ModelProfile& profile) {
  require(!profile.sections.empty(), "there are no sections");
  for (const Section& section : profile.sections) {
    require(in_range(section.type, profile.section_types.size()), "a type that does not exist");
  }
  for (const SectionType& type : profile.section_types) {
    require(!type.parameters.empty() && !type.measurements.empty(), "an empty type");
    for (const ParameterCount& entry : type.parameters) require(entry.count >= 0, "parameters");
    for (const Measurement& m : type.measurements) check_measurement(m, profile.sources.size());
  }
  for (const TiedWeights& tie : profile.tied_weights) {
    require(tie.sections.size() >= 2 && std::ranges::is_sorted(tie.sections), "a tie");
    for (const SectionId id : tie.sections) {
      require(in_range(id.value, profile.sections.size()), "a section that does not exist");
    }
  }
}

// Two devices of the type that the profile was measured on.
ClusterSpec cluster_of(const std::string& device) {
  ClusterSpec cluster;
  cluster.name = "two";
  cluster.sources.push_back({"s", Origin::kAssumed, "made up", ""});
  cluster.device_types.push_back({device, Bytes{std::int64_t{40} << 30}, Bytes{}, {1e12}, 1.0, 0});
  cluster.node_types.push_back({"node", 0, 2});
  cluster.nodes.push_back({0, 1});
  cluster.levels.push_back({"link", 0, {}, Duration(10'000), {1e10}, {}, 0});
  return cluster;
}

// Prices, memory and time of two stages (or one) at the first measured point.
void plan_with(const ModelProfile& profile) {
  const Measurement& m = profile.section_types.front().measurements.front();
  const ClusterSpec cluster = cluster_of(m.device);
  PlanInputs inputs;
  inputs.profile = &profile;
  inputs.cluster = &cluster;
  Plan plan;
  plan.device = m.device;
  plan.pipeline = m.tensor_degree == 1 && profile.sections.size() > 1 ? 2 : 1;
  plan.tensor = std::min(m.tensor_degree, 2);
  plan.micro_batch_size = m.micro_batch_size;
  plan.global_batch = 2 * m.micro_batch_size;
  plan.sequence_length = m.sequence_length;
  plan.recompute = m.recompute;
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  require(evaluated.evaluation.step_time >= Duration{}, "a negative step time");
  for (const RankEvaluation& rank : evaluated.evaluation.ranks) {
    require(rank.memory.total() >= Bytes{}, "negative memory");
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto read = [](const Json& json) { return read_profile(json, fuzz::kFile); };
  const auto profile = fuzz::accepted_and_kept(data, size, read, write_profile);
  if (!profile) return 0;
  check_profile(*profile);
  // Times and sizes may still be beyond what is simulated.
  fuzz::unless_refused([&] { return plan_with(*profile), true; });
  return 0;
}
