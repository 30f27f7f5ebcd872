// The data of the page that shows a recording replayed under policies: GPUs that come and go, what
// each policy runs, and what it keeps (report/page/morph.js).
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "report/goodput_report.h"
#include "report/page/report_data.h"

namespace penstock {

struct MorphPage {
  std::string tool;     // "penstock 0.1.0"
  std::string command;  // that made the page
  std::string model;
  std::vector<ReportInput> inputs;
  GoodputReport report;
};

Json to_json(const MorphPage& page);

}  // namespace penstock
