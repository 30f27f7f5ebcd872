// The data of the pages of studies: a recording of GPUs replayed under policies, what each runs and
// keeps (report/page/morph.js); several models on the same GPUs, who runs where and when
// (multi.js); and that of a report on the plan of the first batch, with what `penstock dynamic`
// found (dynamic.js).
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "report/dynamic_report.h"
#include "report/goodput_report.h"
#include "report/multi_report.h"
#include "report/page/report_data.h"

namespace penstock {

struct PageHead {
  std::string tool;     // "penstock 0.1.0"
  std::string command;  // that made the page
  std::string title;    // or the model
  std::vector<ReportInput> inputs;
};

Json morph_page_json(const PageHead& head, const GoodputReport& report);
Json multi_page_json(const PageHead& head, const MultiReport& report);
Json dynamic_page_json(const ReportData& data, const DynamicReport& report);

}  // namespace penstock
