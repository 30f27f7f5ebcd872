// The timelines of the HTML report: a plan replayed, and a measured step of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/run_log.h"
#include "core/values/timeline.h"
#include "report/page/report_page.h"

namespace penstock {

// A browser draws a million boxes with ease and ten million not at all.
inline constexpr std::size_t kMostShownActions = 4'000'000;

struct ReportTimelines {
  Json about = Json::array();
  std::vector<PagePayload> payloads;
  std::vector<std::string> notes;  // on steps of more actions, which are left out

  // `plan`: its index among the plans of the report.
  void add_predicted(const std::string& title, int plan, const PlanFile& file,
                     const Timeline& timeline);
  void add_measured(const std::string& title, int plan, const PlanFile& file,
                    const MeasuredStep& step);
};

}  // namespace penstock
