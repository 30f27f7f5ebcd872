// One object, in the order in which the page shows it. What is absent is left out, so the page
// tests for a key and never for an empty value. The time "without a part" of the step is the
// makespan less that part on the busiest rank: a lower bound of what removing it would leave, since
// another rank may bind then.
#include "report/page/report_data.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "report/json_array.h"
#include "report/measures.h"
#include "report/page/plan_differences.h"
#include "report/page/verdict.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/result_json.h"
#include "report/time_table.h"

namespace penstock {
namespace {

std::int64_t ns(Duration duration) { return duration.count(); }

void set_unless_empty(Json& json, const std::string& key, const std::string& text) {
  if (!text.empty()) json.set(key, text);
}

Json input_json(const ReportInput& input) {
  return Json::object()
      .set("role", input.role)
      .set("path", input.file.path)
      .set("hash", input.file.hash);
}

Json plan_json(const ReportedPlan& reported, const Plan& first) {
  Json json = Json::object();
  json.set("title", reported.title).set("role", reported.role);
  json.set("plan", to_json(reported.plan));
  json.set("prediction", to_json(reported.evaluation, reported.plan));
  json.set("words", plan_line(reported.plan)).set("reason", reported.reason);
  json.set("recompute_words", recompute_in_short(reported.plan));
  set_unless_empty(json, "sharding_words",
                   says_sharding(reported.plan) ? sharding_words(reported.plan) : "");
  set_unless_empty(json, "differs", differences_text(first, reported.plan));
  set_unless_empty(json, "command", reported.command);
  json.set("tied", reported.tied).set("on_pareto_front", reported.on_pareto_front);
  set_unless_empty(json, "placed", reported.placed);
  return json;
}

Json plans_json(const std::vector<ReportedPlan>& plans, const ReportData& data) {
  return array_of(plans, [&data](const ReportedPlan& reported) {
    return plan_json(reported, data.plans.front().plan);
  });
}

Json infeasible_json(const ReportedPlan& reported) {
  return Json::object()
      .set("title", reported.title)
      .set("words", plan_line(reported.plan))
      .set("step_time_ns", ns(reported.evaluation.step_time))
      .set("peak_memory_bytes", reported.evaluation.peak_memory().count)
      .set("why", reported.reason);
}

Json rejection_json(const Rejection& rejection) {
  return to_json(rejection).set("text", rejection_text(rejection));
}

Json step_json(const StaircaseStep& step) {
  Json json = Json::object();
  json.set("gpus", step.gpus);
  if (!step.plan) return json.set("why_not", step.why_not);
  const Duration time = step.evaluation.step_time;
  json.set("words", plan_line(*step.plan)).set("step_time_ns", ns(time));
  json.set("samples_per_s", samples_per_second(*step.plan, time));
  if (step.plan->sequence_length > 0) {
    json.set("tokens_per_s", tokens_per_second(*step.plan, time));
  }
  if (const double usd = usd_per_million_tokens(*step.plan, step.evaluation); usd > 0.0) {
    json.set("cost_usd_per_mtok", usd);
  }
  json.set("peak_memory_bytes", step.evaluation.peak_memory().count);
  return json.set("gpus_used", step.plan->devices()).set("same_as_before", step.same_as_before);
}

// Of the busiest rank. What the step would take without a part is a bound: other ranks may bind
// then.
Json parts_json(const Evaluation& evaluation) {
  const RankTime& time = evaluation.ranks.at(busiest_rank(evaluation)).time;
  const auto makespan = static_cast<double>(evaluation.makespan.count());
  return array_of(time_parts(), [&](const TimePart& part) {
    const Duration spent = time.*part.time;
    return Json::object()
        .set("part", std::string(part.name))
        .set("time_ns", ns(spent))
        .set("share", makespan > 0.0 ? static_cast<double>(spent.count()) / makespan : 0.0)
        .set("meaning", std::string(part.meaning))
        .set("step_time_if_zero_ns", ns(evaluation.makespan - spent));
  });
}

Json changes_json(Duration now, const std::vector<WhatIf>& changes) {
  return array_of(changes, [now](const WhatIf& change) {
    const auto saved = static_cast<double>((now - change.step_time).count());
    return Json::object()
        .set("change", change.change)
        .set("step_time_ns", ns(change.step_time))
        .set("gain", now > Duration{} ? saved / static_cast<double>(now.count()) : 0.0);
  });
}

Json assumptions_json(std::vector<Assumption> assumptions) {
  std::stable_sort(assumptions.begin(), assumptions.end(),
                   [](const Assumption& a, const Assumption& b) { return a.share > b.share; });
  return array_of(assumptions, [](const Assumption& one) {
    return Json::object().set("text", one.text).set("share", one.share);
  });
}

// The verdict when nothing fits.
std::string no_plan_text(const ReportData& data) {
  if (!data.search) return "There is no plan.";
  if (!data.search->complete) return "No plan was found before the search was stopped.";
  if (data.search->nearest_miss) {
    return "No plan fits. Nearest miss: " + reason_text(*data.search->nearest_miss) + ".";
  }
  return "No plan fits.";
}

// Of the best plan.
Json mfu_json(const ReportData& data, const ModelFlops& flops) {
  const Plan& plan = data.plans.front().plan;
  const Evaluation& evaluation = data.plans.front().evaluation;
  Json json = Json::object();
  json.set("convention", std::string(text_of(flops.convention)));
  json.set("flops_per_s_and_gpu", flops_per_second_and_gpu(flops, plan, evaluation.step_time));
  const auto share = mfu(flops, plan, evaluation.step_time);
  const auto low = mfu(flops, plan, evaluation.step_time_high);
  const auto high = mfu(flops, plan, evaluation.step_time_low);
  if (share && low && high) json.set("mfu", *share).set("mfu_low", *low).set("mfu_high", *high);
  return json;
}

Json verdict_json(const ReportData& data) {
  Json json = Json::object();
  if (data.plans.empty()) return json.set("text", no_plan_text(data));
  const ReportedPlan& best = data.plans.front();
  json.set("text", verdict_text(best.plan, best.evaluation, data.gpus, data.flops));
  json.set("confidence", confidence_of(best.evaluation));
  set_unless_empty(json, "apply_command", data.apply_command);
  if (data.flops) json.set("flops", mfu_json(data, *data.flops));
  return json;
}

void set_search(Json& json, const ReportData& data) {
  Json on_front = Json::array();
  for (std::size_t i = 0; i < data.plans.size(); ++i) {
    if (data.plans[i].on_pareto_front) on_front.push(static_cast<std::int64_t>(i));
  }
  json.set("pareto", std::move(on_front));
  json.set("pareto_plans", plans_json(data.pareto_plans, data));
  json.set("infeasible", array_of(data.infeasible, infeasible_json));
  json.set("rejected", array_of(data.search->rejected, rejection_json));
  json.set("candidates", Json::object()
                             .set("candidates", data.search->candidates)
                             .set("evaluated", data.search->evaluated)
                             .set("bounded", data.search->bounded)
                             .set("complete", data.search->complete)
                             .set("text", counts_text(*data.search)));
}

}  // namespace

Json page_json(const char* kind, const std::string& tool, const std::string& command,
               const std::string& model, const std::vector<ReportInput>& inputs) {
  Json json = answer_json(kind);
  json.set("tool", tool).set("command", command).set("model", model);
  return json.set("inputs", array_of(inputs, input_json));
}

Json to_json(const ReportData& data) {
  Json json = page_json("report", data.tool, data.command, data.model, data.inputs);
  json.set("verdict", verdict_json(data));
  json.set("question",
           Json::object().set("words", data.question).set("notes", strings(data.notes)));
  json.set("plans", plans_json(data.plans, data));
  if (data.search) set_search(json, data);
  if (!data.plans.empty()) {
    const Evaluation& best = data.plans.front().evaluation;
    json.set("parts", parts_json(best));
    json.set("changes", changes_json(best.step_time, data.changes));
    json.set("assumptions", assumptions_json(best.assumptions));
  }
  if (data.look_alikes > 0) json.set("look_alikes", data.look_alikes);
  if (!data.not_modelled.empty()) json.set("not_modelled", strings(data.not_modelled));
  json.set("not_searched", strings(data.not_searched));
  if (!data.staircase.empty()) json.set("staircase", array_of(data.staircase, step_json));
  if (data.validation) {
    Json validation = Json::object();
    set_validation(validation, *data.validation);
    json.set("validation", std::move(validation));
  }
  return json.set("timelines", data.timelines);
}

}  // namespace penstock
