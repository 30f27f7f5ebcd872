// The HTML report of a plan file: its replay, what each change would gain, other plan files beside
// it, and a measured run laid over it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/io/files.h"
#include "report/page/report_data.h"
#include "report/page/report_page.h"

namespace penstock {

struct Report {
  ReportData data;
  std::vector<PagePayload> payloads;
};

struct PlanReportRequest {
  Loaded<PlanFile> plan;
  std::vector<std::string> baselines;  // paths
  std::optional<std::string> run, step;
  bool any_plan = false;
};

Report report_of_plan(const PlanReportRequest& request);

}  // namespace penstock
