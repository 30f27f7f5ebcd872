// All combinations of the schedules and shapes that were named, a row each. An option that only
// some schedules have is kept from the others, and a combination that cannot be is a row with its
// reason, so that one command compares them all.
#include "cli/reports/schedule_sweep.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/reports/replayed_schedule.h"
#include "cli/reports/schedule_picture.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_called.h"
#include "core/values/json.h"
#include "report/flat_table.h"
#include "report/measures.h"
#include "report/result_json.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRows = 1000;

struct Row {
  ScheduleOptions given;  // of this schedule and shape alone
  std::string why_not;
  ReplayedSchedule replayed;
};

bool is_list(const std::optional<std::string>& text) {
  return text && text->find(',') != std::string::npos;
}

// What was named, each once; nothing where the schedule's own default counts.
std::vector<std::optional<std::string>> values_of(const char* option,
                                                  const std::optional<std::string>& text) {
  if (!text) return {std::nullopt};
  std::vector<std::optional<std::string>> values;
  for (std::string& value : parse_list(option, *text)) values.emplace_back(std::move(value));
  return values;
}

// What only some schedules have is kept from the others, so that one command may name both.
ScheduleOptions for_schedule(ScheduleOptions given, const std::string& name) {
  const ScheduleKind& kind = *find_schedule(name);
  given.name = name;
  if (!kind.is_automatic()) given.automatic = {};
  if (!kind.has_groups) given.group.reset();
  if (!kind.has_slices) given.slices.reset();
  if (kind.most_chunks == kind.fewest_chunks) given.chunks.reset();
  return given;
}

std::vector<Row> rows_of(const ScheduleOptions& given) {
  std::vector<Row> rows;
  for (const std::string& typed : parse_list("NAME", given.name)) {
    const ScheduleOptions of_kind = for_schedule(given, schedule_called("NAME", typed, given.name));
    for (const auto& ranks : values_of("-P", of_kind.ranks)) {
      for (const auto& chunks : values_of("-V", of_kind.chunks)) {
        for (const auto& micro_batches : values_of("-M", of_kind.micro_batches)) {
          Row row{of_kind, "", {}};
          row.given.ranks = ranks;
          row.given.chunks = chunks;
          row.given.micro_batches = micro_batches;
          rows.push_back(std::move(row));
          if (rows.size() <= kMostRows) continue;
          bad_option("NAME", fmt::format("more than {} combinations", kMostRows),
                     "name fewer at once");
        }
      }
    }
  }
  return rows;
}

void replay(Row& row) {
  const ScheduleShape shape = shape_of(row.given);
  row.replayed.result.schedule = row.given.name;
  row.replayed.result.ranks = shape.ranks;
  row.replayed.result.chunks = shape.chunks;
  row.replayed.result.micro_batches = shape.micro_batches;
  row.why_not = why_no_schedule(*find_schedule(row.given.name), shape);
  if (row.why_not.empty()) row.replayed = replayed(row.given, subject_of(row.given), {});
}

// Costs that a schedule which divides the backward takes serve the others, too: what it asks of
// them is said first.
void check_costs(const std::vector<Row>& rows) {
  const auto split = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
    return find_schedule(row.given.name)->splits_backward() &&
           why_no_schedule(*find_schedule(row.given.name), shape_of(row.given)).empty();
  });
  if (split != rows.end()) costs_of(split->given, subject_of(split->given));
}

Json json_of(const Row& row) {
  const ScheduleResult& result = row.replayed.result;
  if (row.why_not.empty()) {
    Json json = schedule_json(result);
    set_uncertainty(json, row.replayed.extras.uncertainty);
    return json;
  }
  return Json::object()
      .set("schedule", result.schedule)
      .set("P", result.ranks)
      .set("V", result.chunks)
      .set("M", result.micro_batches)
      .set("why_not", row.why_not);
}

// The largest of all ranks, in micro-batches of a whole rank.
std::string most_held(const ScheduleResult& result) {
  std::int64_t most = 0;
  for (const std::int64_t chunks : result.peak_stash_chunks) most = std::max(most, chunks);
  return fmt::format("{:.4g}",
                     static_cast<double>(most) * result.copies / result.chunks / result.slices);
}

TextTable table_of(const std::vector<Row>& rows) {
  TextTable table({{"schedule", true},
                   {"PP"},
                   {"VP", false, 1},
                   {"M", false, 1},
                   {"step"},
                   {"relative", false, 2, 1},
                   {"bubble"},
                   {"activations"}});
  Duration first{};
  for (const Row& row : rows) {
    const ScheduleResult& result = row.replayed.result;
    std::vector<std::string> cells{result.schedule, std::to_string(result.ranks),
                                   std::to_string(result.chunks),
                                   std::to_string(result.micro_batches)};
    if (!row.why_not.empty()) {
      cells.insert(cells.end(), {"-", "-", "-", "-"});
    } else {
      if (first == Duration{}) first = result.step();
      cells.push_back(aligned(result.step()));
      cells.push_back(first == Duration{} ? "-"
                                          : fixed(static_cast<double>(result.step().count()) /
                                                      static_cast<double>(first.count()),
                                                  3));
      cells.push_back(percent(bubble_rate(result.makespan, result.ideal)));
      cells.push_back(most_held(result));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string notes_of(const ScheduleOptions& given, const std::vector<Row>& rows, Screen screen) {
  std::string text = wrapped(
      "bubble: (makespan - busiest rank's work) / makespan; activations: held by the fullest rank "
      "at its peak, in micro-batches of a whole rank",
      screen.width(), "", "  ");
  std::set<int> chunks;
  for (const Row& row : rows) {
    chunks.insert(row.replayed.result.chunks);
    if (row.why_not.empty()) continue;
    const ScheduleResult& result = row.replayed.result;
    text += wrapped(fmt::format("{}, PP {}, VP {}, M {}: {}", result.schedule, result.ranks,
                                result.chunks, result.micro_batches, row.why_not),
                    screen.width(), "", "  ");
  }
  if (chunks.size() > 1 && !given.per_rank && !given.cost_file) {
    text += wrapped(
        "note: costs are per virtual stage, so that rows with more chunks do more "
        "work; with --per-rank all rows do the same",
        screen.width(), "", "  ");
  }
  return text;
}

void refuse_texts(const ScheduleOptions& given) {
  if (given.print) bad_option("--print", "it prints one schedule", "name one schedule and shape");
  if (given.csv) bad_option("--csv", "it writes one schedule", "name one schedule and shape");
}

}  // namespace

bool is_sweep(const ScheduleOptions& given) {
  if (given.name.ends_with(".csv")) return false;
  return given.name.find(',') != std::string::npos || is_list(given.ranks) ||
         is_list(given.chunks) || is_list(given.micro_batches);
}

Answer sweep(const ScheduleOptions& given, Screen screen) {
  refuse_texts(given);
  const TableFormat chosen = given.format.chosen();
  std::vector<Row> rows = rows_of(given);
  if (given.output) check_step_file(*given.output, rows.size());
  check_costs(rows);
  for (Row& row : rows) replay(row);
  const bool any =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.why_not.empty(); });
  const int exit = any ? kYes : kNo;
  const std::string costs =
      any ? "costs: " + std::find_if(rows.begin(), rows.end(),
                                     [](const Row& row) { return row.why_not.empty(); })
                            ->replayed.result.costs
          : "";
  const auto text = [&](Screen where) {
    return wrapped(costs, where.width(), "", "  ") + "\n" + table_of(rows).text(where.width()) +
           "\n" + notes_of(given, rows, where);
  };
  if (given.output) {
    const std::string beside = text({});  // a file has the same bytes on every screen
    std::vector<SyntheticStep> steps;
    for (Row& row : rows) {
      if (row.replayed.extras.step) steps.push_back(std::move(*row.replayed.extras.step));
    }
    if (steps.empty()) bad_option("--output", "no row can be drawn", rows.front().why_not);
    write_step_file(*given.output, std::move(steps), given.picture, costs, beside);
  }
  if (chosen == TableFormat::kJson) {
    Json list = Json::array();
    for (const Row& row : rows) list.push(json_of(row));
    Json json = answer_json("schedule");
    json.set("rows", std::move(list));
    return json_answer(json, exit);
  }
  if (chosen == TableFormat::kMarkdown) return {table_of(rows).markdown(), exit};
  if (chosen == TableFormat::kCsv) {
    std::vector<Json> flat;
    for (const Row& row : rows) {
      flat.push_back(Json::object());
      append_flat(flat.back(), json_of(row));
    }
    return {flat_table(flat).csv(), exit};
  }
  const std::string written =
      given.output ? fmt::format("\n{} is written\n", *given.output) : std::string();
  return report_answer(text(screen) + written, exit);
}

}  // namespace penstock
