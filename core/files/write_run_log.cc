#include <limits>
#include <utility>

#include "core/files/finite_or_null.h"
#include "core/values/json.h"
#include "core/values/run_log.h"

namespace penstock {
namespace {

std::string one_line(const Json& json) { return to_text(json, std::numeric_limits<int>::max()); }

Json nanoseconds(const std::vector<Duration>& times) {
  Json json = Json::array();
  for (const Duration time : times) {
    json.push(time == kNotMeasured ? Json() : Json(std::int64_t{time.count()}));
  }
  return json;
}

Json write_rank(const MeasuredRank& rank) {
  Json json = Json::object();
  json.set("rank", rank.rank)
      .set("pipeline", rank.pipeline)
      .set("pipeline_rank", rank.pipeline_rank)
      .set("start_ns", nanoseconds(rank.start))
      .set("end_ns", nanoseconds(rank.end));
  if (rank.sections.empty()) return json;
  Json sections = Json::array();
  for (const MeasuredSection& section : rank.sections) {
    sections.push(Json::object()
                      .set("kind", std::string(name_of(section.kind)))
                      .set("section", section.section)
                      .set("start_ns", std::int64_t{section.start.count()})
                      .set("end_ns", std::int64_t{section.end.count()}));
  }
  json.set("sections", std::move(sections));
  return json;
}

}  // namespace

std::string write_run_header(const RunHeader& header) {
  Json json = Json::object();
  json.set("format", "penstock.run/1")
      .set("model", header.model)
      .set("plan", header.plan)
      .set("plan_hash", header.plan_hash)
      .set("tool_version", header.tool_version)
      .set("transport", header.transport)
      .set("device", header.device)
      .set("host", header.host)
      .set("started", header.started)
      .set("library", header.library)
      .set("precision", header.precision)
      .set("ranks", header.ranks)
      .set("threads_per_rank", header.threads_per_rank)
      .set("first_step", header.first_step);
  return one_line(json);
}

std::string write_measured_step(const MeasuredStep& step) {
  Json json = Json::object();
  json.set("step", step.step)
      .set("loss", finite_or_null(step.loss))
      .set("gradient_norm", finite_or_null(step.gradient_norm))
      .set("skipped", step.skipped)
      .set("tokens", step.tokens)
      .set("step_time_ns", std::int64_t{step.step_time.count()})
      .set("compute_ns", std::int64_t{step.phases.compute.count()})
      .set("waiting_ns", std::int64_t{step.phases.waiting.count()})
      .set("reducing_ns", std::int64_t{step.phases.reducing.count()})
      .set("optimizer_ns", std::int64_t{step.phases.optimizer.count()});
  if (!step.rank_compute.empty()) json.set("rank_compute_ns", nanoseconds(step.rank_compute));
  if (step.learning_rate) json.set("learning_rate", *step.learning_rate);
  if (step.evaluation) {
    json.set("evaluation_loss", finite_or_null(step.evaluation->loss))
        .set("evaluation_time_ns", std::int64_t{step.evaluation->time.count()});
  }
  if (!step.plan_hash.empty()) json.set("plan", step.plan).set("plan_hash", step.plan_hash);
  if (!step.ranks.empty()) {
    Json ranks = Json::array();
    for (const MeasuredRank& rank : step.ranks) ranks.push(write_rank(rank));
    json.set("ranks", std::move(ranks));
  }
  return one_line(json);
}

}  // namespace penstock
