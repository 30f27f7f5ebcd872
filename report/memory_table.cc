#include "report/memory_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

using Category = std::pair<std::string_view, Bytes>;

// Which of the categories a narrow table leaves out, the largest first; capacity has 3.
constexpr std::array<int, 7> kDrop{0, 1, 2, 0, 4, 5, 6};

std::array<Category, 7> categories(const MemoryUse& use) {
  return {{{"parameters", use.parameters},
           {"gradients", use.gradients},
           {"optimizer", use.optimizer_state},
           {"activations", use.stash},
           {"working", use.working_peak},
           {"buffers", use.communication},
           {"reserve", use.reserve}}};
}

}  // namespace

TextTable memory_rows(const Evaluation& evaluation, const Plan& plan) {
  std::vector<Column> columns{{"rank"}};
  if (plan.has_unequal_replicas()) columns.push_back({"replicas", true});
  if (plan.is_mixed()) columns.push_back({"device", true});
  const auto parts = categories({});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    columns.push_back({std::string(parts[i].first), false, 2, kDrop[i]});
  }
  columns.insert(columns.end(),
                 {{"total", false, 1}, {"capacity", false, 1, 3}, {"left", false, 1}});
  TextTable table(columns);
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    const RankEvaluation& rank = evaluation.ranks[r];
    std::vector<std::string> cells{fmt::format("{}", r)};
    if (plan.has_unequal_replicas()) cells.push_back(replicas_of_rank_text(plan, r));
    if (plan.is_mixed()) cells.push_back(plan.device_of_rank(static_cast<int>(r)));
    for (const auto& [name, bytes] : categories(rank.memory)) cells.push_back(gib(bytes));
    cells.push_back(gib(rank.memory.total()));
    cells.push_back(gib(rank.capacity));
    cells.push_back(gib(headroom(rank)));
    table.add(std::move(cells));
  }
  return table;
}

std::string memory_table(const Evaluation& evaluation, const Plan& plan, Screen screen) {
  return memory_rows(evaluation, plan).text(screen.width(plan.is_mixed() ? 120 : 100));
}

std::string tightest_rank_text(const Evaluation& evaluation) {
  const std::size_t tightest = tightest_rank(evaluation);
  const RankEvaluation& rank = evaluation.ranks.at(tightest);
  const auto parts = categories(rank.memory);
  const auto largest =
      std::max_element(parts.begin(), parts.end(),
                       [](const Category& a, const Category& b) { return a.second < b.second; });
  const Bytes left = headroom(rank);
  const std::string margin = left < Bytes{} ? fmt::format("{} GiB too much", gib(Bytes{} - left))
                                            : fmt::format("{} GiB left", gib(left));
  return fmt::format("rank {} is the fullest: {} of {} GiB, {}; its largest part is {} ({} GiB)",
                     tightest, gib(rank.memory.total()), gib(rank.capacity), margin, largest->first,
                     gib(largest->second));
}

std::string memory_limit_text(const PlanFile& file) {
  const PlanCluster& cluster = file.cluster;
  if (cluster.limited_from.count <= 0) return "";
  return fmt::format("the limit is {} GiB of the {} that a GPU has", gib(cluster.memory_per_device),
                     gib(cluster.limited_from));
}

}  // namespace penstock
