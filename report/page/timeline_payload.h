// A step as the HTML report holds it: what is little as JSON, what is much as packed arrays
// (docs/report.md, "The file").
#pragma once

#include <cstdint>
#include <string>

#include "core/values/json.h"
#include "core/values/plan_file.h"
#include "report/page/box_links.h"
#include "report/page/report_page.h"
#include "report/page/timeline_rows.h"

namespace penstock {

struct TimelineNames {
  std::string id;     // "timeline-0": of the element that holds the arrays
  std::string title;  // "Plan 1, predicted"
  int plan = 0;       // index into the plans of the report
};

struct TimelinePayload {
  Json about;
  PagePayload payload;
};

TimelinePayload timeline_payload(const TimelineNames& names, const PlanFile& plan,
                                 const StepTrace& trace, const TimelineRows& rows,
                                 const BoxLinks& links);

// The smallest whole number of nanoseconds in which `length` is a number of 32 bits.
std::int64_t tick_of(Duration length);

}  // namespace penstock
