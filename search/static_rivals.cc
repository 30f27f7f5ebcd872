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
                                 AskedToStop& asked_to_stop) {
  SearchRequest of_rivals = request;
  of_rivals.faster_than.reset();
  of_rivals.top = kMostRivals;
  of_rivals.pins.schedules.clear();
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_costly || !is_enumerated(of_rivals, kind)) continue;
    if (is_automatic_of(request.pins.schedules, kind.map)) names.emplace_back(kind.name);
  }
  if (names.empty()) return {};
  of_rivals.pins.schedules = std::move(names);
  return found_by_another(inputs, of_rivals, asked_to_stop);
}

}  // namespace penstock
