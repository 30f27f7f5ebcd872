#include "studies/fewest_gpus.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/values/plan_book.h"
#include "costmodel/price_stages.h"
#include "report/words.h"
#include "search/best_plans.h"
#include "search/remedies.h"

namespace penstock {
namespace {

constexpr int kMostTried = 1 << 14;

int most_per_node(const ClusterSpec& cluster) {
  int most = 1;
  for (const NodeType& type : cluster.node_types) most = std::max(most, type.devices);
  return most;
}

// What saves memory is pinned where nothing else is.
Question for_least_memory(Question question) {
  Pins& pins = question.request.pins;
  if (!pins.micro_batch_size) pins.micro_batch_size = 1;
  if (pins.schedules.empty()) {
    pins.schedules = {pins.chunks.value_or(1) > 1 ? "interleaved" : "1f1b"};
  }
  const std::string device = pins.device.value_or(question.cluster.value.device_types.front().name);
  const std::vector<std::string> modes = measured_recompute_modes(question.profile.value, device);
  if (!pins.recompute && std::find(modes.begin(), modes.end(), "full") != modes.end()) {
    pins.recompute = "full";
  }
  question.request.top = 1;
  return question;
}

std::optional<Plan> fitting(const AskedOf& asked_of, int gpus, SearchProgress& progress) {
  const Question question = for_least_memory(asked_of(gpus));
  SearchResult result = best_plans(question.inputs(), question.request, progress);
  if (result.best.empty()) return {};
  return std::move(result.best.front().plan);
}

// Ascending: powers of two within a node, then whole nodes, ever more of them.
std::vector<int> sizes_above(int gpus, int per_node, int most) {
  std::vector<int> sizes;
  for (std::int64_t size = 1; size <= most; size *= 2) {
    const std::int64_t whole = size < per_node ? size : (size + per_node - 1) / per_node * per_node;
    if (whole > gpus && whole <= most) sizes.push_back(static_cast<int>(whole));
  }
  if (most > gpus && (sizes.empty() || sizes.back() < most)) sizes.push_back(most);
  return sizes;
}

// What --gpus would say: "16", or how many of each type the plan uses, "new=8,old=16".
std::string asked_with(int gpus, const Plan& plan, const std::vector<std::string>& types) {
  if (types.empty()) return std::to_string(gpus);
  const std::vector<int> counts = gpus_of_types(plan, types);
  std::vector<std::string> each;
  for (std::size_t t = 0; t < types.size(); ++t) {
    each.push_back(fmt::format("{}={}", types[t], counts[t]));
  }
  return fmt::format("{}", fmt::join(each, ","));
}

std::string text_of(int gpus, const Plan& plan, const std::vector<std::string>& types) {
  return fmt::format("{} would do: {}. Ask with --gpus {}.",
                     count_of(types.empty() ? gpus : plan.devices(), "GPU"), plan_words(plan),
                     asked_with(gpus, plan, types));
}

}  // namespace

std::string fewest_gpus_text(const Question& question, const AskedOf& asked_of,
                             SearchProgress& progress, const std::vector<std::string>& types) {
  const bool assumed = question.cluster.file.path == kAssumedCluster;
  const int most = assumed ? kMostTried : device_count(question.cluster.value);
  const int per_node =
      assumed ? question.estimated->device.node.devices : most_per_node(question.cluster.value);
  int too_few = question.request.gpus;
  std::optional<Plan> plan;
  int enough = 0;
  for (const int size : sizes_above(too_few, per_node, most)) {
    plan = fitting(asked_of, size, progress);
    if (progress.stop()) return "";
    enough = size;
    if (plan) break;
    too_few = size;
  }
  if (enough == 0) return "";
  if (!plan) return fmt::format("Not even {} would do.", count_of(enough, "GPU"));
  // Whole nodes between the last that was too few and the first that was enough.
  while (enough - too_few > per_node && enough > per_node) {
    const int middle = (too_few + enough) / 2 / per_node * per_node;
    if (middle <= too_few || middle >= enough) break;
    std::optional<Plan> found = fitting(asked_of, middle, progress);
    if (progress.stop()) break;
    (found ? enough : too_few) = middle;
    if (found) plan = std::move(found);
  }
  const std::vector<int> counted = gpus_of_types(*plan, types);
  // It may take devices of types that were not asked about.
  if (!types.empty() && std::accumulate(counted.begin(), counted.end(), 0) < plan->devices()) {
    return "";
  }
  return text_of(enough, *plan, types);
}

}  // namespace penstock
