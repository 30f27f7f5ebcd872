#include "report/comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/result_json.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

double speed_of(const RankedPlan& ranked) {
  return samples_per_second(ranked.plan, ranked.evaluation.step_time);
}

double baseline_speed(const std::vector<Variant>& variants) {
  for (const Variant& variant : variants) {
    if (variant.best) return speed_of(*variant.best);
  }
  return 0.0;
}

std::vector<Column> plan_columns() {
  return {{"step"},        {"+-", false, 1},  {"samples/s", false, 1}, {"speed", false, 1},
          {"T"},           {"P", false, 1},   {"V", false, 1},         {"D", false, 1},
          {"b", false, 1}, {"M", false, 1},   {"schedule", true, 1},   {"recompute", true, 1},
          {"Z1", true, 1}, {"GiB", false, 1}, {"bub%", false, 1}};
}

// One per plan column.
std::vector<std::string> plan_cells(const RankedPlan& ranked, double baseline) {
  const auto& [plan, evaluation, tied, pareto, placed] = ranked;
  const double speed = speed_of(ranked);
  return {aligned(evaluation.step_time),
          fmt::format("{:.1f}%", 100.0 * relative_uncertainty(evaluation)),
          significant(speed, 4),
          fixed(speed / baseline, 2),
          fmt::format("{}", plan.tensor),
          fmt::format("{}", plan.pipeline),
          fmt::format("{}", plan.chunks),
          fmt::format("{}", plan.data),
          fmt::format("{}", plan.micro_batch_size),
          fmt::format("{}", micro_batches_of(plan)),
          plan.schedule,
          plan.recompute,
          plan.zero1 ? "on" : "-",
          gib(evaluation.peak_memory()),
          fixed(100.0 * bubble_rate(evaluation.makespan, evaluation.ideal), 1)};
}

// A choice of the plan that varies has its column already.
bool varies(const Variant& variant, const std::string& column) {
  const std::string key = column == "Z1" ? "zero1" : column;
  return std::any_of(variant.settings.begin(), variant.settings.end(),
                     [&key](const auto& setting) { return setting.first == key; });
}

std::vector<Column> columns_of(const Variant& variant) {
  std::vector<Column> columns{{"#"}};
  for (const auto& [key, value] : variant.settings) columns.push_back({key + "=", true, 1});
  for (const Column& column : plan_columns()) {
    if (!varies(variant, column.header)) columns.push_back(column);
  }
  return columns;
}

std::vector<std::string> row_of(const Variant& variant, std::size_t number, double baseline) {
  std::vector<std::string> row{fmt::format("{}", number)};
  for (const auto& [key, value] : variant.settings) row.push_back(value);
  const std::vector<Column> columns = plan_columns();
  std::vector<std::string> cells(columns.size(), "-");
  cells.front() = "no plan";
  if (variant.best) cells = plan_cells(*variant.best, baseline);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!varies(variant, columns[c].header)) row.push_back(std::move(cells[c]));
  }
  return row;
}

template <class Predicate>
bool any_of(const std::vector<Variant>& variants, Predicate predicate) {
  return std::any_of(variants.begin(), variants.end(), predicate);
}

bool is_slowed(const Variant& variant) { return variant.slow || !variant.why_not_slow.empty(); }

// The step under the scenario, and how much longer it is.
std::vector<std::string> slow_cells(const Variant& variant) {
  if (!variant.slow) return {"-", "-"};
  const auto with = static_cast<double>(variant.slow->step_time.count());
  const auto without = static_cast<double>(variant.slow->step_time_without.count());
  return {aligned(variant.slow->step_time), fmt::format("{:.1f}%", 100.0 * (with / without - 1.0))};
}

std::string scenario_legend(const std::vector<Variant>& variants) {
  for (const Variant& variant : variants) {
    if (!variant.slow) continue;
    return wrapped(
        "slow step: of the same plan when " + variant.slow->scenario + "; longer: by how much.",
        100, "", "");
  }
  return "";
}

std::string reasons(const std::string& heading, const std::vector<Variant>& variants,
                    std::string Variant::*reason) {
  std::string lines;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string& text = variants[i].*reason;
    if (!text.empty()) lines += wrapped(fmt::format("{}: {}", i + 1, text), 100, "  ", "    ");
  }
  return lines.empty() ? "" : "\n" + heading + ":\n" + lines;
}

}  // namespace

std::string comparison_table(const std::vector<Variant>& variants) {
  if (variants.empty()) return "";
  const double baseline = baseline_speed(variants);
  const bool mixed = any_of(variants, [](const Variant& variant) {
    return variant.best && variant.best->plan.is_mixed();
  });
  const bool slow = any_of(variants, is_slowed);
  std::vector<Column> columns = columns_of(variants.front());
  if (slow) columns.insert(columns.end(), {{"slow step", false, 1}, {"longer", false, 1}});
  if (mixed) columns.push_back({"ranks on", true, 1});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    std::vector<std::string> row = row_of(variant, i + 1, baseline);
    if (slow) {
      for (std::string& cell : slow_cells(variant)) row.push_back(std::move(cell));
    }
    if (mixed) row.push_back(variant.best ? device_words(variant.best->plan) : "-");
    table.add(std::move(row));
  }
  return table.text(mixed || slow ? 120 : 100) +
         wrapped(
             "speed: samples per second relative to the first row with a plan; +-: how far off "
             "the step time may be; Z1: ZeRO-1; GiB: peak of the worst rank; bub%: bubble by "
             "makespan.",
             100, "", "") +
         scenario_legend(variants) + reasons("No plan", variants, &Variant::why_not) +
         reasons("Not in the scenario", variants, &Variant::why_not_slow);
}

Json comparison_json(const std::vector<Variant>& variants) {
  const double baseline = baseline_speed(variants);
  Json rows = Json::array();
  for (const Variant& variant : variants) {
    Json settings = Json::object();
    for (const auto& [key, value] : variant.settings) settings.set(key, value);
    Json row = Json::object().set("settings", std::move(settings));
    if (variant.best) {
      row.set("relative_speed", speed_of(*variant.best) / baseline);
      row.set("best", to_json(*variant.best));
      if (variant.slow) row.set("scenario", to_json(*variant.slow));
      if (!variant.why_not_slow.empty()) row.set("why_not_slow", variant.why_not_slow);
    } else {
      row.set("why_not", variant.why_not);
    }
    rows.push(std::move(row));
  }
  return rows;
}

}  // namespace penstock
