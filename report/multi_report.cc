#include "report/multi_report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/values/seconds.h"
#include "report/json_array.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

// Of the answer: what is above the jobs takes five lines and one for each way.
constexpr std::size_t kMostLines = 20, kOtherLines = 6;

// Days, hours and minutes for what lasts long, else as everywhere; the beginning is "0 s".
std::string long_text(Duration time) {
  if (time == Duration{}) return "0 s";
  const double hours = to_seconds(time) / 3600.0;
  if (hours >= 72.0) return fmt::format("{} days", fixed(hours / 24.0, 2));
  if (hours >= 1.0) return fmt::format("{} h", fixed(hours, 2));
  return hours >= 1.0 / 6.0 ? fmt::format("{} min", fixed(hours * 60.0, 1)) : aligned(time);
}

double over(Duration time, Duration bound) {
  return bound > Duration{} ? static_cast<double>(time.count()) / static_cast<double>(bound.count())
                            : 1.0;
}

bool has_deadlines(const MultiReport& report) {
  return std::any_of(report.jobs.begin(), report.jobs.end(),
                     [](const MultiJob& job) { return job.deadline.has_value(); });
}

std::string headline(const MultiReport& report) {
  std::string text = fmt::format(
      "{} on {}: {} by {}", count_of(static_cast<std::int64_t>(report.jobs.size()), "job"),
      count_of(report.gpus, "GPU"), long_text(report.makespan()), report.ways[report.best].name);
  if (report.bound == report.makespan()) return text + ", as short as any schedule can be";
  if (report.bound > Duration{}) {
    text += fmt::format("; no schedule takes less than {}, so at most {} could be gained",
                        long_text(report.bound),
                        percent(1.0 - 1.0 / over(report.makespan(), report.bound)));
  }
  return text;
}

std::string change_text(const MultiChange& change) {
  if (!change.changes) {
    return fmt::format("Nothing changes: no other schedule gains enough on the remaining {}.",
                       long_text(change.goes_on));
  }
  return fmt::format(
      "Without a change it would take {}; {} restarted, {} each.", long_text(change.goes_on),
      change.restarts == 1 ? "one job is" : fmt::format("{} jobs are", change.restarts),
      long_text(change.restart));
}

TextTable ways_table(const MultiReport& report) {
  std::vector<Column> columns = {left_column("way"), right_column("makespan")};
  if (report.bound > Duration{}) columns.push_back(right_column("/ bound"));
  const bool deadlines = has_deadlines(report);
  if (deadlines) columns.push_back(right_column("late s"));
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < report.ways.size(); ++i) {
    const MultiWay& way = report.ways[i];
    std::vector<std::string> cells = {way.name + (i == report.best ? " *" : ""),
                                      long_text(way.makespan)};
    if (report.bound > Duration{}) cells.push_back(fixed(over(way.makespan, report.bound), 3));
    if (deadlines) cells.push_back(significant(way.late_seconds, 4));
    table.add(std::move(cells));
  }
  return table;
}

std::vector<std::size_t> by_start(const MultiReport& report) {
  std::vector<std::size_t> order(report.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.jobs[a].start < report.jobs[b].start;
  });
  return order;
}

TextTable jobs_table(const MultiReport& report, const std::vector<std::size_t>& order,
                     std::size_t rows) {
  const bool deadlines = has_deadlines(report);
  std::vector<Column> columns = {left_column("job"), right_column("start"), right_column("end")};
  if (deadlines) columns.push_back(right_column("deadline"));
  columns.push_back({.header = "on GPU", .left = true, .gap = 2});
  columns.push_back({.header = "runs", .left = true, .gap = 2, .drop = 1});
  TextTable table(std::move(columns));
  for (std::size_t k = 0; k < rows; ++k) {
    const MultiJob& job = report.jobs[order[k]];
    std::vector<std::string> cells = {job.name, long_text(job.start), long_text(job.end)};
    if (deadlines) {
      cells.push_back(!job.deadline
                          ? "-"
                          : long_text(*job.deadline) + (job.end > *job.deadline ? " late" : ""));
    }
    cells.push_back(ranges(job.gpus));
    cells.push_back(job.words);
    table.add(std::move(cells));
  }
  return table;
}

Json job_json(const MultiJob& job) {
  Json json = Json::object();
  json.set("name", job.name)
      .set("start_ns", std::int64_t{job.start.count()})
      .set("end_ns", std::int64_t{job.end.count()})
      .set("gpus", array_of(job.gpus, [](int gpu) { return Json(gpu); }))
      .set("runs", job.words);
  if (job.deadline) {
    json.set("deadline_ns", std::int64_t{job.deadline->count()});
    json.set("is_late", job.end > *job.deadline);
  }
  return json;
}

}  // namespace

std::string multi_text(const MultiReport& report, Screen screen) {
  std::string text = wrapped(headline(report), screen.width(), "", "  ") + '\n' +
                     ways_table(report).text(screen.width()) + '\n';
  const std::size_t above = report.ways.size() + report.notes.size() + kOtherLines;
  const std::size_t all = report.jobs.size();
  const std::size_t least = 3;
  const std::size_t room = above + least < kMostLines ? kMostLines - above : least;
  const std::size_t rows = all <= room ? all : room - 1;
  text += jobs_table(report, by_start(report), rows).text(screen.width());
  if (rows < all) {
    text += fmt::format("... and {} that start later; --json and -o report.html have all\n",
                        count_of(static_cast<std::int64_t>(all - rows), "job"));
  }
  if (report.change) text += wrapped(change_text(*report.change), screen.width(), "", "  ");
  return text + wrapped(report.notes, screen.width(), "", "  ");
}

Json multi_json(const MultiReport& report) {
  Json json = Json::object();
  json.set("gpus", report.gpus).set("makespan_ns", std::int64_t{report.makespan().count()});
  if (report.bound > Duration{}) {
    json.set("bound_ns", std::int64_t{report.bound.count()});
    json.set("makespan_over_bound", over(report.makespan(), report.bound));
  }
  json.set("best", report.ways[report.best].name);
  json.set("ways", array_of(report.ways, [](const MultiWay& way) {
             return Json::object()
                 .set("name", way.name)
                 .set("makespan_ns", std::int64_t{way.makespan.count()})
                 .set("late_s", way.late_seconds);
           }));
  json.set("jobs",
           array_of(by_start(report), [&](std::size_t i) { return job_json(report.jobs[i]); }));
  if (report.change) {
    json.set("change", Json::object()
                           .set("is_changed", report.change->changes)
                           .set("goes_on_ns", std::int64_t{report.change->goes_on.count()})
                           .set("restart_ns", std::int64_t{report.change->restart.count()})
                           .set("restarts", report.change->restarts));
  }
  return json.set("notes", strings(report.notes));
}

}  // namespace penstock
