// The data of the page of `penstock dynamic`: that of a report on the plan of the first batch, and
// what the study found (report/page/dynamic.js).
#pragma once

#include "core/values/json.h"
#include "report/dynamic_report.h"
#include "report/page/report_data.h"

namespace penstock {

Json dynamic_page_json(const ReportData& data, const DynamicReport& report);

}  // namespace penstock
