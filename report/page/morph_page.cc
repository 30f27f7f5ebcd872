#include "report/page/morph_page.h"

#include <utility>

#include "core/values/seconds.h"
#include "report/json_array.h"
#include "report/result_json.h"

namespace penstock {
namespace {

Json start_json(const PolicyStart& start) {
  Json json = Json::object();
  json.set("at_s", to_seconds(start.at)).set("gpus_used", start.gpus);
  if (!start.plan.empty()) json.set("plan", start.plan);
  return json.set("lost_gpu", start.broken);
}

// In the order of goodput_json().
Json starts_json(const std::vector<PolicyResult>& policies) {
  Json json = Json::array();
  for (const PolicyResult& policy : policies) json.push(array_of(policy.starts, start_json));
  return json;
}

Json morph_json(const GoodputReport& report) {
  Json json = goodput_json(report);
  json.set("recording", report.recording).set("costs", report.costs);
  json.set("hindsight", report.hindsight).set("end_s", to_seconds(report.end));
  json.set("availability", array_of(report.availability, [](const GpusFrom& from) {
             return Json::object().set("at_s", to_seconds(from.at)).set("gpus", from.gpus);
           }));
  json.set("book", array_of(report.book, [](const GoodputPlan& plan) {
             return Json::object().set("gpus", plan.gpus).set("words", plan.words);
           }));
  return json.set("starts", starts_json(report.policies));
}

}  // namespace

Json to_json(const MorphPage& page) {
  Json json = page_json("morph", page.tool, page.command, page.model, page.inputs);
  json.set("plans", Json::array()).set("timelines", Json::array());
  return json.set("morph", morph_json(page.report));
}

}  // namespace penstock
