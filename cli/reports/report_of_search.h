// The HTML report of a search: the ranked plans with reasons and commands, what cannot run, the
// Pareto front, the best plan for every number of GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/io/answer.h"
#include "cli/options/search_options.h"
#include "cli/reports/report_of_plan.h"

namespace penstock {

struct SearchReportRequest {
  const SearchOptions& search;
  const Arguments& arguments;  // of the verb, for the commands in the report
  std::vector<std::string> baselines;
  std::optional<std::string> scaling;  // "auto", "off" or "8,16,32"
};

struct SearchedReport {
  Report report;
  int exit = kYes;
};

SearchedReport report_of_search(const SearchReportRequest& request);

}  // namespace penstock
