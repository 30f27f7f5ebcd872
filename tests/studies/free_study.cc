#include "tests/studies/free_study.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "studies/dynamic_study.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"
#include "tests/simulator/pipelines.h"

namespace penstock::testing {
namespace {

// What a layer takes: so long for a launch, for a token, and for a pair of tokens of one sample.
struct LayerNumbers {
  std::int64_t launch_ns = 0, token_ns = 0, pair_ns = 0, token_bytes = 0;
};

Measurement layer_row(const LayerNumbers& layer, int samples, int length, int tensor) {
  const std::int64_t tokens = std::int64_t{samples} * length;
  const std::int64_t work = tokens * layer.token_ns + tokens * length * layer.pair_ns;
  const std::int64_t forward = layer.launch_ns + work / tensor;
  Measurement row = measured(samples, length, forward, 2 * forward);
  row.tensor_degree = tensor;
  row.stash = Bytes{tokens * layer.token_bytes / tensor};
  row.weight_stash = Bytes{row.stash.count / 2};
  row.working_peak = Bytes{row.stash.count / 4};
  row.boundary = Bytes{tokens * 64};
  return row;
}

SectionType random_layer(Random& random, const std::string& name, bool tensors, bool recomputes) {
  LayerNumbers layer{random.between(0, 40'000), random.between(100, 3'000), random.between(0, 20),
                     random.between(50, 400)};
  const std::int64_t parameters = random.between(1'000, 3'000'000);
  SectionType type = section_type(name, parameters, {});
  if (tensors) type.parameters.push_back({2, parameters / 2});
  for (const int tensor : {1, 2}) {
    if (tensor == 2 && !tensors) continue;
    for (const int length : {8, 32, 128}) {
      for (const int samples : {1, 4, 16, 64}) {
        Measurement row = layer_row(layer, samples, length, tensor);
        type.measurements.push_back(row);
        if (!recomputes) continue;
        row.recompute = "full";
        row.recompute_time = row.forward;
        row.stash = row.boundary;
        row.weight_stash = Bytes{};
        type.measurements.push_back(row);
      }
    }
  }
  return type;
}

struct Asked {
  Question question;
  DynamicRequest request;
};

Asked random_asked(Random& random, StudySize size) {
  const bool large = size == StudySize::kLarge;
  Asked asked;
  const bool tensors = random.between(0, 2) == 0, recomputes = random.between(0, 2) == 0;
  const int layers = random.between(2, large ? 9 : 5);
  ModelProfile& profile = asked.question.profile.value;
  profile = model_of(random_layer(random, "layer", tensors, recomputes), layers);
  if (random.coin()) {
    profile.section_types.push_back(random_layer(random, "head", tensors, recomputes));
    profile.sections.push_back({"head", 1});
  }
  ClusterSpec& cluster = asked.question.cluster.value;
  cluster = eight_per_node(2);
  if (random.coin()) {  // eight nodes of two, where placements differ
    cluster.node_types.front().devices = cluster.levels.front().devices = 2;
    cluster.nodes.front().count = 8;
  }
  DeviceType& device = cluster.device_types.front();
  device.reserve = {};
  if (random.coin()) device.memory = {30'000'000 + random.between(0, 100) * 1'000'000};
  asked.question.request.gpus = 1 << random.between(1, large ? 4 : 2);
  asked.question.request.threads = 1;

  const int longest = random.between(16, 120);
  for (int i = 0; i < 80; ++i) {
    const int most = random.between(0, 4) == 0 ? longest : std::max(3, longest / 5);
    asked.request.samples.push_back({random.between(2, most), 0});
  }
  asked.request.drawn = {random.between(20, 60) * asked.question.request.gpus, 3,
                         static_cast<std::uint64_t>(random.between(1, 1'000))};
  asked.request.replays = large ? 40 : 10;
  return asked;
}

DynamicMethod dynamic_of(const Asked& asked) {
  SearchProgress progress;
  return study_dynamic(asked.question, asked.request, progress).report.dynamic();
}

using SetPin = std::function<void(Pins&)>;
std::vector<std::pair<std::string, SetPin>> all_pins(const Asked& asked) {
  std::vector<std::pair<std::string, SetPin>> pins;
  const int gpus = asked.question.request.gpus;
  for (int degree = 1; degree <= gpus; degree *= 2) {
    const std::string words = std::to_string(degree);
    pins.emplace_back("PP " + words, [degree](Pins& all) { all.pipeline = degree; });
    pins.emplace_back("DP " + words, [degree](Pins& all) { all.data = degree; });
    if (degree <= 2) pins.emplace_back("TP " + words, [degree](Pins& all) { all.tensor = degree; });
    if (degree <= 4) pins.emplace_back("VP " + words, [degree](Pins& all) { all.chunks = degree; });
  }
  pins.emplace_back("pipeline-inner", [](Pins& all) { all.placement = Placement::kPipelineInner; });
  pins.emplace_back("data-inner", [](Pins& all) { all.placement = Placement::kDataInner; });
  for (const char* mode : {"none", "full"}) {
    pins.emplace_back(mode, [mode](Pins& all) { all.recompute = mode; });
  }
  return pins;
}

std::string words_of(const DynamicMethod& method) {
  return method.why_not.empty() ? fmt::format("{} ns with {}", method.time().count(), method.layout)
                                : "no plan";
}

}  // namespace

std::vector<std::string> beaten_by_pins(std::uint64_t number, StudySize size) {
  Random random(number);
  const Asked asked = random_asked(random, size);
  auto pins = all_pins(asked);
  while (size == StudySize::kSmall && pins.size() > 4) {
    pins.erase(pins.begin() + random.between(0, static_cast<int>(pins.size()) - 1));
  }
  const DynamicMethod free = dynamic_of(asked);
  std::vector<std::string> violations;
  for (const auto& [words, set] : pins) {
    Asked pinned = asked;
    set(pinned.question.request.pins);
    const DynamicMethod found = dynamic_of(pinned);
    if (!found.why_not.empty() || (free.why_not.empty() && free.time() <= found.time())) continue;
    violations.push_back(fmt::format("study {}: {} under the pin {}, {} without", number,
                                     words_of(found), words, words_of(free)));
  }
  return violations;
}

}  // namespace penstock::testing
