#include "search/static_rivals.h"

#include <algorithm>
#include <string>

#include "search/candidate_choices.h"
#include "search/stopped_as_another.h"

namespace penstock {
namespace {

constexpr int kMostRivals = 4;  // however many plans are shown

bool is_automatic_of(const std::vector<std::string>& names, StageMap map) {
  return std::any_of(names.begin(), names.end(), [map](const std::string& name) {
    const ScheduleKind& kind = *find_schedule(name);
    return kind.is_automatic() && kind.map == map;
  });
}

}  // namespace

std::vector<Found> static_rivals(const PlanInputs& inputs, const SearchRequest& request,
                                 SearchProgress& progress) {
  SearchRequest of_rivals = request;
  of_rivals.faster_than.reset();
  of_rivals.top = kMostRivals;
  of_rivals.pins.schedules.clear();
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_costly || !is_enumerated(of_rivals, kind)) continue;
    if (is_automatic_of(request.pins.schedules, kind.map)) names.emplace_back(kind.name);
  }
  std::vector<Found> found;
  if (names.empty()) return found;
  of_rivals.pins.schedules = std::move(names);
  StoppedAsAnother stops(progress);
  for (const RankedPlan& ranked : best_plans(inputs, of_rivals, stops).best) {
    const Evaluation& evaluation = ranked.evaluation;
    found.push_back({ranked.plan, evaluation.step_time, evaluation.peak_memory()});
  }
  return found;
}

}  // namespace penstock
