// Rows are sorted by their larger effect on speed, stably, so that equal ones keep the order of the
// study. A bar of twelve cells to either side is scaled to the largest effect of all rows. A change
// that cannot be made has no effect here, and its reason stands below the table.
#include "report/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/reasons.h"
#include "report/screen.h"
#include "report/table.h"

namespace penstock {
namespace {

constexpr std::size_t kBar = 12;  // cells of the largest effect

double effect_of(const std::optional<Outcome>& outcome) {
  return outcome && outcome->why_not.empty() ? outcome->more_speed : 0.0;
}

double largest_effect(const Sensitivity& one) {
  return std::max(std::abs(effect_of(one.less)), std::abs(effect_of(one.more)));
}

std::vector<Sensitivity> sorted(const Sensitivities& sensitivities) {
  std::vector<Sensitivity> rows = sensitivities.all;
  std::stable_sort(rows.begin(), rows.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return largest_effect(a) > largest_effect(b);
  });
  return rows;
}

std::string speed_text(const std::optional<Outcome>& outcome) {
  if (!outcome) return "";
  if (!outcome->why_not.empty()) return "no";
  const double percents = 100.0 * outcome->more_speed;
  // Not "-0.00 %".
  return fmt::format("{:+.2f} %", std::abs(percents) < 0.005 ? 0.0 : percents);
}

// Slower to the left of the bar, faster to its right.
std::string bar_of(const Sensitivity& one, double largest) {
  std::size_t slower = 0, faster = 0;
  for (const auto* side : {&one.less, &one.more}) {
    const double effect = effect_of(*side);
    const auto cells = static_cast<std::size_t>(
        largest > 0.0 ? std::llround(static_cast<double>(kBar) * std::abs(effect) / largest) : 0);
    (effect < 0.0 ? slower : faster) = std::max(effect < 0.0 ? slower : faster, cells);
  }
  return std::string(kBar - slower, ' ') + std::string(slower, '-') + '|' +
         std::string(faster, '+');
}

TextTable table_of(const std::vector<Sensitivity>& rows) {
  if (rows.empty()) return TextTable({});
  const double largest = largest_effect(rows.front());
  TextTable table({{"  what changes", true},
                   {"change", true, 1},
                   {"speed", false, 1, 0, true},
                   {"change", true},
                   {"speed", false, 1, 0, true},
                   {"slower      |faster", true, 2, 1}});
  for (const Sensitivity& row : rows) {
    table.add({"  " + row.what, row.less ? row.less->change : "", speed_text(row.less),
               row.more ? row.more->change : "", speed_text(row.more), bar_of(row, largest)});
  }
  return table;
}

// "micro-batch size x2: rank 2 over memory by 3.1 GiB"
std::vector<std::string> remarks(const std::vector<Sensitivity>& rows,
                                 std::string Outcome::*remark) {
  std::vector<std::string> lines;
  for (const Sensitivity& row : rows) {
    for (const auto* side : {&row.less, &row.more}) {
      if (!*side || ((**side).*remark).empty()) continue;
      lines.push_back(row.what + " " + (**side).change + ": " + (**side).*remark);
    }
  }
  return lines;
}

std::string section(const std::string& heading, const std::vector<std::string>& lines,
                    Screen screen) {
  return lines.empty() ? "" : heading + ":\n" + list_text(lines, screen);
}

Json outcome_json(const Outcome& outcome) {
  Json json = Json::object().set("change", outcome.change);
  if (!outcome.why_not.empty()) return json.set("why_not", outcome.why_not);
  json.set("step_time_ns", std::int64_t{outcome.step_time.count()});
  json.set("more_speed", outcome.more_speed);
  if (!outcome.plan.empty()) json.set("words", outcome.plan);
  return json;
}

}  // namespace

std::string sensitivity_text(const Sensitivities& sensitivities, Screen screen) {
  const std::vector<Sensitivity> rows = sorted(sensitivities);
  return (rows.empty() ? "" : table_of(rows).text(screen.width(140))) +
         list_text(sensitivities.notes, screen) +
         section("The best plans after these changes", remarks(rows, &Outcome::plan), screen) +
         section("Not possible (\"no\" in the table)", remarks(rows, &Outcome::why_not), screen) +
         section("Not answered", sensitivities.not_answered, screen);
}

TextTable sensitivity_rows(const Sensitivities& sensitivities) {
  return table_of(sorted(sensitivities));
}

Json to_json(const Sensitivities& sensitivities) {
  Json rows = Json::array();
  for (const Sensitivity& row : sorted(sensitivities)) {
    Json outcomes = Json::array();
    if (row.less) outcomes.push(outcome_json(*row.less));
    if (row.more) outcomes.push(outcome_json(*row.more));
    rows.push(Json::object()
                  .set("key", row.key)
                  .set("what", row.what)
                  .set("outcomes", std::move(outcomes)));
  }
  return Json::object()
      .set("rows", std::move(rows))
      .set("notes", strings(sensitivities.notes))
      .set("not_answered", strings(sensitivities.not_answered));
}

}  // namespace penstock
