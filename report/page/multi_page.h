// The data of the page that shows several models on the same GPUs: who runs where and when
// (report/page/multi.js).
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "report/multi_report.h"
#include "report/page/report_data.h"

namespace penstock {

struct MultiPage {
  std::string tool;     // "penstock 0.1.0"
  std::string command;  // that made the page
  std::string title;
  std::vector<ReportInput> inputs;
  MultiReport report;
};

Json to_json(const MultiPage& page);

}  // namespace penstock
