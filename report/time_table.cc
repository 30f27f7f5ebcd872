#include "report/time_table.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::array<TimePart, 7> kParts{{
    {"compute", "computes, the optimizer included", &RankTime::busy},
    {"warm-up", "waits before its first backward", &RankTime::warm_up},
    {"drain", "waits after its last forward", &RankTime::drain},
    {"imbalance", "waits in between for a rank with more work", &RankTime::imbalance},
    {"order", "waits in between for its turn", &RankTime::order},
    {"transfer", "waits for a transfer", &RankTime::transfer},
    {"barrier", "gradient reduction, norm, optimizers of other ranks", &RankTime::barrier},
}};

std::vector<Duration> parts_of(const RankTime& time) {
  std::vector<Duration> parts;
  parts.reserve(kParts.size());
  for (const TimePart& part : kParts) parts.push_back(time.*part.time);
  return parts;
}

std::string percent_text(std::int64_t tenths) {
  return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

}  // namespace

std::span<const TimePart> time_parts() { return kParts; }

std::vector<std::int64_t> tenths_of_percent(const std::vector<Duration>& parts) {
  const Duration total = std::accumulate(parts.begin(), parts.end(), Duration{});
  std::vector<std::int64_t> tenths(parts.size(), 0);
  if (total <= Duration{}) return tenths;
  std::vector<double> remainders;
  std::int64_t missing = 1000;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double share =
        1000.0 * static_cast<double>(parts[i].count()) / static_cast<double>(total.count());
    tenths[i] = static_cast<std::int64_t>(share);
    remainders.push_back(share - static_cast<double>(tenths[i]));
    missing -= tenths[i];
  }
  for (; missing > 0; --missing) {
    const auto largest = std::max_element(remainders.begin(), remainders.end());
    *largest = -1.0;
    ++tenths[static_cast<std::size_t>(largest - remainders.begin())];
  }
  return tenths;
}

std::string busiest_rank_time(const Evaluation& evaluation, Screen screen) {
  const RankTime& time = evaluation.ranks.at(busiest_rank(evaluation)).time;
  const std::vector<Duration> parts = parts_of(time);
  const std::vector<std::int64_t> tenths = tenths_of_percent(parts);
  TextTable table({{"  part", true}, {"time"}, {"share"}, {"", true, 2, 1}});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    table.add({fmt::format("  {}", kParts[i].name), aligned(parts[i]), percent_text(tenths[i]),
               std::string(kParts[i].meaning)});
  }
  return table.text(screen.width());
}

TextTable time_rows(const Evaluation& evaluation, const Plan& plan) {
  std::vector<Column> columns{{"rank"}};
  if (plan.has_unequal_replicas()) columns.push_back({"replicas", true});
  if (plan.is_mixed()) columns.push_back({"device", true});
  for (const TimePart& part : kParts) columns.push_back({std::string(part.name)});
  TextTable table(columns);
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    std::vector<std::string> cells{fmt::format("{}", r)};
    if (plan.has_unequal_replicas()) cells.push_back(replicas_of_rank_text(plan, r));
    if (plan.is_mixed()) cells.push_back(plan.device_of_rank(static_cast<int>(r)));
    for (const auto tenths : tenths_of_percent(parts_of(evaluation.ranks[r].time))) {
      cells.push_back(percent_text(tenths));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string time_table(const Evaluation& evaluation, const Plan& plan, Screen screen) {
  return time_rows(evaluation, plan).text(screen.width());
}

}  // namespace penstock
