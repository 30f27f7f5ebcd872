// Columns are chosen by what varies: a column that says the same in all rows gives way to a line
// below, so that the table fits a terminal. Everything relative is relative to the first row. What
// the rows are measured by (samples, tokens, dollars) is decided once for all of them, since rows
// of different units cannot be compared.
#include "report/comparison.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "report/flat_table.h"
#include "report/measures.h"
#include "report/plan_table.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kWidthInFiles = 120;

// What the rows are measured by: samples per second, or tokens where rows differ in the length of
// their sequences; with prices per million tokens, or per step where there are none.
struct Measure {
  bool lengths_differ = false, priced = false, has_tokens = true;
  Decisions decisions;
  double baseline = 0.0;  // speed of the first row that has a plan

  explicit Measure(const std::vector<Variant>& variants) {
    const RankedPlan* first = nullptr;
    for (const Variant& variant : variants) {
      if (!variant.best) continue;
      if (first == nullptr) first = &*variant.best;
      const Plan& plan = variant.best->plan;
      decisions.add(plan);
      lengths_differ = lengths_differ || plan.sequence_length != first->plan.sequence_length;
      priced = priced || variant.best->evaluation.usd_per_step > 0.0;
      has_tokens = has_tokens && plan.sequence_length > 0;
    }
    if (first != nullptr) baseline = speed(*first);
  }

  [[nodiscard]] bool by_tokens() const { return lengths_differ && has_tokens; }
  [[nodiscard]] double speed(const RankedPlan& ranked) const {
    const Duration step = ranked.evaluation.step_time;
    return by_tokens() ? tokens_per_second(ranked.plan, step)
                       : samples_per_second(ranked.plan, step);
  }
  [[nodiscard]] double relative(const RankedPlan& ranked) const { return speed(ranked) / baseline; }
  [[nodiscard]] std::string price(const RankedPlan& ranked) const {
    const double usd = has_tokens ? usd_per_million_tokens(ranked.plan, ranked.evaluation)
                                  : ranked.evaluation.usd_per_step;
    return usd > 0.0 ? significant(usd, 4) : "-";
  }
};

std::vector<Column> plan_columns(const Measure& measure) {
  std::vector<Column> columns{{"step"},
                              {"+-", false, 1},
                              {measure.by_tokens() ? "tokens/s" : "samples/s", false, 1, 4},
                              {"speed", false, 1}};
  const std::vector<Column> decisions = decision_columns(measure.decisions, 2);
  columns.insert(columns.end(), decisions.begin(), decisions.end());
  columns.push_back({"GiB", false, 1});
  columns.push_back({"bub%", false, 1, 10});
  columns.push_back({"idle%", false, 1, 11});
  if (measure.priced) columns.push_back({measure.has_tokens ? "$/Mtok" : "$/step", false, 1});
  return columns;
}

// One per plan column.
std::vector<std::string> plan_cells(const RankedPlan& ranked, const Measure& measure) {
  const Plan& plan = ranked.plan;
  const Evaluation& evaluation = ranked.evaluation;
  std::vector<std::string> cells{aligned(evaluation.step_time), interval_text(evaluation),
                                 significant(measure.speed(ranked), 4),
                                 fixed(measure.relative(ranked), 2)};
  const std::vector<std::string> decisions = decision_cells(measure.decisions, plan);
  cells.insert(cells.end(), decisions.begin(), decisions.end());
  cells.push_back(gib(evaluation.peak_memory()));
  cells.push_back(fixed(100.0 * bubble_rate(evaluation.makespan, evaluation.ideal), 1));
  cells.push_back(fixed(100.0 * idle_share(plan, evaluation), 1));
  if (measure.priced) cells.push_back(measure.price(ranked));
  return cells;
}

// The field's words for the keys of degrees.
std::string_view word_of(std::string_view key) {
  constexpr std::array<std::array<std::string_view, 2>, 6> kWords{
      {{"T", "TP"}, {"C", "CP"}, {"P", "PP"}, {"V", "VP"}, {"D", "DP"}, {"b", "mbs"}}};
  for (const auto& [letter, word] : kWords) {
    if (letter == key) return word;
  }
  return key;
}

// A choice of the plan that varies has its column already.
bool varies(const Variant& variant, std::string_view column) {
  return std::any_of(variant.settings.begin(), variant.settings.end(), [&](const auto& setting) {
    return word_of(setting.first) == column ||
           ((setting.first == "zero1" || setting.first == "sharding") && column == "shards");
  });
}

// Which plan columns are shown. With three things that vary and more, one that says the same in all
// rows gives way to a line below.
struct PlanColumns {
  std::vector<bool> shown;
  std::vector<std::string> same;  // "T 1", "recompute none"

  PlanColumns(const std::vector<Variant>& variants, const std::vector<Column>& columns,
              const std::vector<std::vector<std::string>>& cells) {
    const bool crowded = variants.front().settings.size() > 2 && variants.size() > 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool varied = varies(variants.front(), columns[c].header);
      const bool is_same = crowded && std::all_of(cells.begin(), cells.end(), [&](const auto& row) {
                             return row[c] == cells.front()[c];
                           });
      shown.push_back(!varied && !is_same);
      if (!varied && is_same) same.push_back(columns[c].header + " " + cells.front()[c]);
    }
  }
};

std::vector<std::string> cells_of(const Variant& variant, const Measure& measure) {
  if (variant.best) return plan_cells(*variant.best, measure);
  std::vector<std::string> cells(plan_columns(measure).size(), "-");
  cells.front() = "no plan";
  return cells;
}

std::vector<Column> columns_of(const Variant& variant, const std::vector<Column>& all,
                               const PlanColumns& plan) {
  std::vector<Column> columns{{"#"}};
  for (const auto& [key, value] : variant.settings)
    columns.push_back({fmt::format("{}=", word_of(key)), true, 1});
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (plan.shown[c]) columns.push_back(all[c]);
  }
  return columns;
}

std::vector<std::string> row_of(const Variant& variant, std::size_t number,
                                std::vector<std::string> cells, const PlanColumns& plan) {
  std::vector<std::string> row{fmt::format("{}", number)};
  for (const auto& [key, value] : variant.settings) row.push_back(value);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (plan.shown[c]) row.push_back(std::move(cells[c]));
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

std::string scenario_legend(const std::vector<Variant>& variants, Screen screen) {
  for (const Variant& variant : variants) {
    if (!variant.slow) continue;
    return wrapped(
        "slow step: of the same plan when " + variant.slow->scenario + "; longer: by how much.",
        screen.width(), "", "");
  }
  return "";
}

bool is_trained(const Variant& variant) { return variant.training.has_value(); }

std::vector<std::string> training_cells(const Variant& variant) {
  if (!variant.training) return {"-", "-"};
  return {time_text(*variant.training), price_text(*variant.training)};
}

std::string training_legend(const std::vector<Variant>& variants, Screen screen) {
  for (const Variant& variant : variants) {
    if (!variant.training) continue;
    return wrapped(fmt::format("training: time for {} tokens, {}; price: cost of that training.",
                               tokens_in_short(variant.training->tokens),
                               variant.training->failures ? "failures and checkpoints included"
                                                          : "no failures assumed"),
                   screen.width(), "", "");
  }
  return "";
}

void append(std::vector<std::string>& row, std::vector<std::string> cells) {
  for (std::string& cell : cells) row.push_back(std::move(cell));
}

PlanColumns shown_columns(const std::vector<Variant>& variants, const Measure& measure) {
  std::vector<std::vector<std::string>> cells;
  cells.reserve(variants.size());
  for (const Variant& variant : variants) cells.push_back(cells_of(variant, measure));
  return {variants, plan_columns(measure), cells};
}

std::string reasons(const std::string& heading, const std::vector<Variant>& variants,
                    std::string Variant::*reason, Screen screen) {
  std::string lines;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string& text = variants[i].*reason;
    if (!text.empty())
      lines += wrapped(fmt::format("{}: {}", i + 1, text), screen.width(), "  ", "    ");
  }
  return lines.empty() ? "" : "\n" + heading + ":\n" + lines;
}

// The fastest row for one value of what varies; nothing when none has a plan.
std::optional<std::size_t> fastest_with(const std::vector<Variant>& variants,
                                        const Measure& measure, std::size_t axis,
                                        const std::string& value) {
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i].best || variants[i].settings[axis].second != value) continue;
    if (!fastest || measure.speed(*variants[i].best) > measure.speed(*variants[*fastest].best)) {
      fastest = i;
    }
  }
  return fastest;
}

std::vector<std::string> values_of(const std::vector<Variant>& variants, std::size_t axis) {
  std::vector<std::string> values;
  for (const Variant& variant : variants) {
    const std::string& value = variant.settings[axis].second;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

// "mbs: 1.00 with 1 (row 1), 1.12 with 2 (row 4)" for everything that varies: what a value is worth
// when the rest is chosen to suit it.
std::string best_by_value(const std::vector<Variant>& variants, const Measure& measure,
                          Screen screen) {
  std::string lines;
  std::size_t axes = 0;
  for (std::size_t axis = 0; axis < variants.front().settings.size(); ++axis) {
    const std::vector<std::string> values = values_of(variants, axis);
    if (values.size() < 2) continue;
    ++axes;
    std::vector<std::string> parts;
    parts.reserve(values.size());
    for (const std::string& value : values) {
      const auto row = fastest_with(variants, measure, axis, value);
      parts.push_back(row ? fmt::format("{} with {} (row {})",
                                        fixed(measure.relative(*variants[*row].best), 2), value,
                                        *row + 1)
                          : "no plan with " + value);
    }
    lines += wrapped(
        fmt::format("{}: {}", word_of(variants.front().settings[axis].first), joined(parts, ", ")),
        screen.width(), "  ", "    ");
  }
  return axes < 2 ? "" : "\nBest speed by what varies\n" + lines;
}

// "speed: ...", what the columns mean; of those that are shown.
std::string legend(const Measure& measure, const PlanColumns& plan, const TextTable& table,
                   Screen screen) {
  constexpr std::array<std::array<std::string_view, 2>, 6> kMeanings{
      {{"+-", "+-: error of the step time"},
       {"M", "M: micro-batches of a step and DP rank"},
       {"shards", "shards: what the replicas divide"},
       {"GiB", "GiB: peak of the fullest rank"},
       {"bub%", "bub%: bubble by makespan, beyond the work of the busiest rank"},
       {"idle%", "idle%: mean of all ranks"}}};
  std::vector<std::string> parts;
  if (!plan.same.empty()) parts.push_back("In all rows: " + joined(plan.same, ", "));
  parts.push_back(fmt::format("speed: {} per second relative to the first row with a plan",
                              measure.by_tokens() ? "tokens" : "samples"));
  for (const auto& [column, meaning] : kMeanings) {
    const bool is_same = std::any_of(
        plan.same.begin(), plan.same.end(),
        [name = std::string(column) + ' '](const std::string& s) { return s.starts_with(name); });
    if (is_same || table.shows(std::string(column), screen.width(kWidthInFiles))) {
      parts.emplace_back(meaning);
    }
  }
  return wrapped(joined(parts, "; ") + ".", screen.width(), "", "");
}

}  // namespace

TextTable comparison_rows(const std::vector<Variant>& variants) {
  if (variants.empty()) return TextTable({});
  const Measure measure(variants);
  const bool mixed = any_of(variants, [](const Variant& variant) {
    return variant.best && variant.best->plan.is_mixed();
  });
  const bool slow = any_of(variants, is_slowed), training = any_of(variants, is_trained);
  const PlanColumns shown = shown_columns(variants, measure);
  std::vector<Column> columns = columns_of(variants.front(), plan_columns(measure), shown);
  if (slow) columns.insert(columns.end(), {{"slow step", false, 1}, {"longer", false, 1}});
  if (training) columns.insert(columns.end(), {{"training", false, 1}, {"price", false, 1}});
  if (mixed) columns.push_back({"ranks on", true, 1});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    std::vector<std::string> row = row_of(variant, i + 1, cells_of(variant, measure), shown);
    if (slow) append(row, slow_cells(variant));
    if (training) append(row, training_cells(variant));
    if (mixed) row.push_back(variant.best ? device_words(variant.best->plan) : "-");
    table.add(std::move(row));
  }
  return table;
}

std::string comparison_table(const std::vector<Variant>& variants, Screen screen) {
  if (variants.empty()) return "";
  const Measure measure(variants);
  const TextTable table = comparison_rows(variants);
  return table.text(screen.width(kWidthInFiles)) +
         legend(measure, shown_columns(variants, measure), table, screen) +
         scenario_legend(variants, screen) + training_legend(variants, screen) +
         best_by_value(variants, measure, screen) +
         reasons("No plan", variants, &Variant::why_not, screen) +
         reasons("Not in the scenario", variants, &Variant::why_not_slow, screen);
}

std::vector<Json> exact_rows(const std::vector<Variant>& variants) {
  std::vector<Json> rows;
  rows.reserve(variants.size());
  const Json all = comparison_json(variants);
  for (const Json& row : all.elements()) {
    const Variant& variant = variants[rows.size()];
    Json flat = Json::object().set("number", static_cast<std::int64_t>(rows.size() + 1));
    for (const auto& [key, value] : row.members()) {
      if (key == "best") {
        append_flat(flat, flat_row(*variant.best));
      } else {
        append_flat(flat, Json::object().set(key == "settings" ? "vary" : key, value));
      }
    }
    rows.push_back(std::move(flat));
  }
  return rows;
}

namespace {

// "4" as a number, as a plan has it; "interleaved:2" and "h100-sxm" as they are.
Json setting_json(const std::string& value) {
  std::int64_t whole = 0;
  const char* end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, whole);
  if (!value.empty() && read.ec == std::errc() && read.ptr == end) return {whole};
  double number = 0.0;
  const auto real = std::from_chars(value.data(), end, number);
  const bool is_number = !value.empty() && real.ec == std::errc() && real.ptr == end;
  return is_number && std::isfinite(number) ? Json(number) : Json(value);
}

}  // namespace

Json comparison_json(const std::vector<Variant>& variants) {
  const Measure measure(variants);
  Json rows = Json::array();
  for (const Variant& variant : variants) {
    Json settings = Json::object();
    for (const auto& [key, value] : variant.settings) settings.set(key, setting_json(value));
    Json row = Json::object().set("settings", std::move(settings));
    if (variant.best) {
      row.set("relative_speed", measure.relative(*variant.best));
      row.set("best", to_json(*variant.best));
      if (variant.slow) row.set("scenario", to_json(*variant.slow));
      if (!variant.why_not_slow.empty()) row.set("why_not_slow", variant.why_not_slow);
      if (variant.training) row.set("training", to_json(*variant.training));
    } else {
      row.set("why_not", variant.why_not);
    }
    rows.push(std::move(row));
  }
  return rows;
}

}  // namespace penstock
