// The timelines of the HTML report: a plan replayed, and a measured step of it.
#pragma once

#include <string>
#include <vector>

#include "core/plan_file.h"
#include "core/run_log.h"
#include "core/timeline.h"
#include "report/page/report_page.h"

namespace penstock {

struct ReportTimelines {
  Json about = Json::array();
  std::vector<PagePayload> payloads;

  // `plan`: its index among the plans of the report.
  void add_predicted(const std::string& title, int plan, const PlanFile& file,
                     const Timeline& timeline);
  void add_measured(const std::string& title, int plan, const PlanFile& file,
                    const MeasuredStep& step);
};

}  // namespace penstock
