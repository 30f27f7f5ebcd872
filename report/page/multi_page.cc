#include "report/page/multi_page.h"

#include <cstdint>
#include <utility>

#include "report/json_array.h"
#include "report/result_json.h"

namespace penstock {
namespace {

// Rows of four numbers: there may be thousands.
Json stretches_json(const std::vector<MultiStretch>& stretches) {
  return array_of(stretches, [](const MultiStretch& stretch) {
    Json row = Json::array();
    row.push(stretch.gpu).push(stretch.job);
    row.push(std::int64_t{stretch.start.count()}).push(std::int64_t{stretch.end.count()});
    return row;
  });
}

// The names of `stretches`' jobs: multi_json() has the jobs by start.
Json names_json(const std::vector<MultiJob>& jobs) {
  return array_of(jobs, [](const MultiJob& job) { return Json(job.name); });
}

}  // namespace

Json to_json(const MultiPage& page) {
  Json json = page_json("multi", page.tool, page.command, page.title, page.inputs);
  json.set("plans", Json::array()).set("timelines", Json::array());
  Json multi = multi_json(page.report);
  multi.set("names", names_json(page.report.jobs));
  multi.set("stretches", stretches_json(page.report.stretches));
  return json.set("multi", std::move(multi));
}

}  // namespace penstock
