// Every verb's --json is made of these objects, so a plan, a prediction or a rejection has the same
// keys wherever it stands. Times are integers in nanoseconds and memory in bytes. What a model or
// cluster does not have (tokens, prices, FLOP) is left out; it is never a zero.
#include "report/result_json.h"

#include <string>

#include "core/values/plan_file.h"
#include "report/json_array.h"
#include "report/measures.h"

namespace penstock {
namespace {

std::int64_t ns(Duration duration) { return duration.count(); }

// As in a plan file, and the sum.
Json rank_json(const RankEvaluation& rank) {
  return Json::object()
      .set("memory", write_memory(rank.memory).set("total_bytes", rank.memory.total().count))
      .set("capacity_bytes", rank.capacity.count)
      .set("time", write_rank_time(rank.time));
}

void set_prices(Json& json, const Evaluation& evaluation, const Plan& plan) {
  if (evaluation.usd_per_step <= 0.0) return;
  json.set("cost_usd_per_step", evaluation.usd_per_step);
  if (plan.sequence_length > 0) {
    json.set("cost_usd_per_mtok", usd_per_million_tokens(plan, evaluation));
  }
}

}  // namespace

Json to_json(const Plan& plan) {
  Json json = write_decisions(plan);
  json.set("micro_batches", micro_batches_of(plan));
  json.set("devices", plan.devices());
  return json;
}

Json to_json(const Evaluation& evaluation, const Plan& plan, const ModelFlops* flops) {
  Json json = Json::object();
  json.set("step_time_ns", ns(evaluation.step_time));
  json.set("step_time_low_ns", ns(evaluation.step_time_low));
  json.set("step_time_high_ns", ns(evaluation.step_time_high));
  json.set("makespan_ns", ns(evaluation.makespan));
  json.set("longest_span_ns", ns(evaluation.longest_span));
  json.set("ideal_ns", ns(evaluation.ideal));
  json.set("bubble_rate_makespan", bubble_rate(evaluation.makespan, evaluation.ideal));
  json.set("bubble_rate_longest_span", bubble_rate(evaluation.longest_span, evaluation.ideal));
  json.set("idle_share", idle_share(plan, evaluation));
  json.set("samples_per_s", samples_per_second(plan, evaluation.step_time));
  if (plan.sequence_length > 0) {
    json.set("tokens_per_s", tokens_per_second(plan, evaluation.step_time));
    json.set("tokens_per_s_per_gpu", tokens_per_second_and_gpu(plan, evaluation.step_time));
  }
  if (flops != nullptr) {
    json.set("flops_per_s_per_gpu", flops_per_second_and_gpu(*flops, plan, evaluation.step_time));
    if (const auto share = mfu(*flops, plan, evaluation.step_time)) json.set("mfu", *share);
  }
  json.set("peak_memory_bytes", evaluation.peak_memory().count);
  set_prices(json, evaluation, plan);
  json.set("ranks", array_of(evaluation.ranks, rank_json));
  json.set("assumptions", array_of(evaluation.assumptions, [](const Assumption& assumption) {
             return Json::object().set("text", assumption.text).set("share", assumption.share);
           }));
  return json;
}

Json to_json(const RankedPlan& ranked, const ModelFlops* flops) {
  return Json::object()
      .set("plan", to_json(ranked.plan))
      .set("prediction", to_json(ranked.evaluation, ranked.plan, flops))
      .set("against_best", ranked.against_best)
      .set("tied_with_best", ranked.tied_with_best)
      .set("on_pareto_front", ranked.on_pareto_front)
      .set("placed", ranked.placed);
}

Json to_json(const Rejection& rejection) {
  Json json = Json::object();
  json.set("reason", rejection.reason);
  json.set("candidates", rejection.candidates);
  if (rejection.least_over) json.set("least_over_bytes", rejection.least_over->count);
  if (rejection.most_over) json.set("most_over_bytes", rejection.most_over->count);
  json.set("remedy", rejection.remedy);
  return json;
}

Json to_json(const CheckReport& report) {
  Json findings = array_of(report.findings, [](const Finding& finding) {
    return Json::object().set("place", finding.place).set("message", finding.message);
  });
  return Json::object()
      .set("findings", std::move(findings))
      .set("replayed_step_time_ns", ns(report.replayed))
      .set("memory_bytes", array_of(report.memory, [](Bytes bytes) { return Json(bytes.count); }));
}

void set_search_result(Json& json, const SearchResult& result, const ModelFlops* flops) {
  const auto plan_json = [flops](const RankedPlan& ranked) { return to_json(ranked, flops); };
  const auto rejection_json = [](const Rejection& rejection) { return to_json(rejection); };
  json.set("complete", result.complete);
  if (result.least_possible > Duration{}) {
    json.set("least_possible_step_time_ns", std::int64_t{result.least_possible.count()});
  }
  json.set("candidates", result.candidates);
  json.set("evaluated", result.evaluated);
  json.set("bounded", result.bounded);
  json.set("best", result.best.empty() ? Json() : plan_json(result.best.front()));
  json.set("plans", array_of(result.best, plan_json));
  json.set("pareto", array_of(result.pareto, plan_json));
  json.set("rejected", array_of(result.rejected, rejection_json));
  json.set("nearest_miss", result.nearest_miss ? to_json(*result.nearest_miss) : Json());
  json.set("not_searched",
           array_of(result.not_searched, [](const std::string& text) { return Json(text); }));
}

}  // namespace penstock
