#include "report/page/study_pages.h"

#include <cstdint>
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

Json bin_json(const LengthBin& bin) {
  return Json::object()
      .set("from", bin.from)
      .set("to", bin.to)
      .set("samples", bin.samples)
      .set("decoder_samples", bin.decoder_samples);
}

// One row per micro-batch of the first batch, replica by replica.
Json micro_batches_json(const DynamicStep& step) {
  Json rows = Json::array();
  for (std::size_t replica = 0; replica < step.replicas.size(); ++replica) {
    for (std::size_t i = 0; i < step.replicas[replica].size(); ++i) {
      const DynamicMicroBatch& one = step.replicas[replica][i];
      rows.push(Json::object()
                    .set("replica", static_cast<std::int64_t>(replica))
                    .set("place", static_cast<std::int64_t>(i))
                    .set("samples", one.shape.samples)
                    .set("tokens", one.shape.tokens)
                    .set("decoder_tokens", one.shape.decoder_tokens)
                    .set("real_tokens", one.real_tokens)
                    .set("weight", one.weight));
    }
  }
  return rows;
}

}  // namespace

Json morph_page_json(const PageHead& head, const GoodputReport& report) {
  Json json = page_json("morph", head.tool, head.command, head.title, head.inputs);
  json.set("plans", Json::array()).set("timelines", Json::array());
  return json.set("morph", morph_json(report));
}

Json multi_page_json(const PageHead& head, const MultiReport& report) {
  Json json = page_json("multi", head.tool, head.command, head.title, head.inputs);
  json.set("plans", Json::array()).set("timelines", Json::array());
  Json multi = multi_json(report);
  multi.set("names", names_json(report.jobs));
  multi.set("stretches", stretches_json(report.stretches));
  return json.set("multi", std::move(multi));
}

Json dynamic_page_json(const ReportData& data, const DynamicReport& report) {
  Json found = dynamic_json(report);
  found.set("pairs", report.pairs);
  found.set("histogram", array_of(report.histogram, bin_json));
  if (!report.dynamic().steps.empty()) {
    found.set("micro_batches", micro_batches_json(report.dynamic().steps.front()));
  }
  Json json = to_json(data);
  return json.set("dynamic", std::move(found));
}

}  // namespace penstock
