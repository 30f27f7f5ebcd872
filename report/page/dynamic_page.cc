#include "report/page/dynamic_page.h"

#include <utility>

#include "report/json_array.h"

namespace penstock {
namespace {

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
