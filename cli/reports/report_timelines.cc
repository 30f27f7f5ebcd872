#include "cli/reports/report_timelines.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "report/page/box_links.h"
#include "report/page/timeline_payload.h"
#include "report/page/timeline_rows.h"
#include "report/traces/step_trace.h"
#include "report/words.h"
#include "search/rolled_program.h"
#include "simulator/critical_path.h"

namespace penstock {
namespace {

void add(ReportTimelines& timelines, const std::string& title, int plan, const PlanFile& file,
         const StepTrace& trace, const TimelineRows& rows, const BoxLinks& links) {
  const std::string id = "timeline-" + std::to_string(timelines.payloads.size());
  TimelinePayload payload = timeline_payload({id, title, plan}, file, trace, rows, links);
  timelines.about.push(std::move(payload.about));
  timelines.payloads.push_back(std::move(payload.payload));
}

// Whether it has too many actions to be shown, which is then noted.
bool leave_out(ReportTimelines& timelines, const std::string& title, std::size_t actions) {
  if (actions <= kMostShownActions) return false;
  timelines.notes.push_back(fmt::format("{} is not drawn: a step of {} is too much for a browser",
                                        title,
                                        count_of(static_cast<std::int64_t>(actions), "action")));
  return true;
}

}  // namespace

void ReportTimelines::add_predicted(const std::string& title, int plan, const PlanFile& file,
                                    const Timeline& timeline) {
  const auto actions = is_rolled_up(file) ? static_cast<std::size_t>(rolled_actions(file))
                                          : file.program.actions.size();
  if (leave_out(*this, title, actions)) return;
  const StepTrace trace = trace_of(file, timeline);
  const TimelineRows rows = rows_of(trace);
  const auto bounds = bound_by(file.program, timeline, file.executor);
  add(*this, title, plan, file, trace, rows, links_of(trace, rows, file.program, bounds));
}

void ReportTimelines::add_measured(const std::string& title, int plan, const PlanFile& file,
                                   const MeasuredStep& step) {
  std::size_t actions = 0;
  for (const MeasuredRank& rank : step.ranks) actions += rank.start.size();
  if (leave_out(*this, title, actions)) return;
  const StepTrace trace = trace_of(file, step);
  const TimelineRows rows = rows_of(trace);
  add(*this, title, plan, file, trace, rows, measured_links_of(trace, rows, file.program));
}

}  // namespace penstock
