// The step time of a run is the median of its steps behind a warm-up of three; with three steps or
// fewer, of all of them. A run that changed its plan is summarised plan by plan, by the hash that
// every step carries. A loss that is infinite or no number becomes null in JSON.
#include "report/training_report.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/values/finite_or_null.h"
#include "core/values/seconds.h"
#include "report/validation.h"
#include "report/words.h"

namespace penstock {
namespace {

double tokens_per_second_of(std::int64_t tokens, Duration time) {
  return time > Duration{} ? static_cast<double>(tokens) / to_seconds(time) : 0.0;
}

// Ranks that sleep have none.
std::string losses(const RunLog& run, const TrainingSummary& summary) {
  if (run.header.device == "virtual") return "";
  return fmt::format(": loss {} to {}", significant(summary.first_loss, 5),
                     significant(summary.last_loss, 5));
}

std::string evaluations(const RunLog& run) {
  std::vector<const MeasuredStep*> evaluated;
  for (const MeasuredStep& step : run.steps) {
    if (step.evaluation) evaluated.push_back(&step);
  }
  if (evaluated.empty()) return "";
  const auto by_loss = [](const MeasuredStep* a, const MeasuredStep* b) {
    return a->evaluation->loss < b->evaluation->loss;
  };
  const MeasuredStep& least = **std::ranges::min_element(evaluated, by_loss);
  return fmt::format("validation loss {} at the end; least {}, after step {}\n",
                     significant(evaluated.back()->evaluation->loss, 5),
                     significant(least.evaluation->loss, 5), least.step + 1);
}

Json to_json(const MeasuredStep& step) {
  Json json = Json::object();
  json.set("step", step.step).set("loss", finite_or_null(step.loss));
  json.set("gradient_norm", finite_or_null(step.gradient_norm));
  json.set("skipped", step.skipped).set("tokens", step.tokens);
  json.set("step_time_ns", std::int64_t{step.step_time.count()});
  if (step.learning_rate) json.set("learning_rate", *step.learning_rate);
  if (step.evaluation) json.set("evaluation_loss", finite_or_null(step.evaluation->loss));
  if (!step.plan.empty()) json.set("plan", step.plan);
  return json;
}

// The steps that ran under one of the run's plans.
RunLog under(const PredictedPlan& plan, const RunLog& run) {
  RunLog own{run.header, {}};
  std::ranges::copy_if(run.steps, std::back_inserter(own.steps), [&](const MeasuredStep& step) {
    return (step.plan_hash.empty() ? run.header.plan_hash : step.plan_hash) == plan.hash;
  });
  return own;
}

std::string times_in_words(const TrainingSummary& s, Duration predicted) {
  return fmt::format("{} (median of {}), predicted {} ({:+.1f} %); {} tokens/s\n",
                     to_text(s.step_time), s.timed_steps, to_text(predicted),
                     100.0 * prediction_error(predicted, s.step_time), rate(s.tokens_per_second));
}

Json to_json(const RunLog& run, const std::vector<PredictedPlan>& plans) {
  Json all = Json::array();
  for (const PredictedPlan& plan : plans) {
    const RunLog own = under(plan, run);
    Json json = Json::object();
    json.set("plan", plan.path).set("plan_hash", plan.hash);
    json.set("steps", std::ssize(own.steps));
    json.set("step_time_ns",
             own.steps.empty() ? Json() : Json(std::int64_t{summarize(own).step_time.count()}));
    json.set("predicted_step_time_ns", std::int64_t{plan.step_time.count()});
    all.push(std::move(json));
  }
  return all;
}

}  // namespace

std::string step_line(const MeasuredStep& step, std::int64_t end_step) {
  return fmt::format("step {} of {}: loss {}, gradient norm {}, {}, {} tokens/s{}", step.step + 1,
                     end_step, significant(step.loss, 5), significant(step.gradient_norm, 3),
                     to_text(step.step_time),
                     rate(tokens_per_second_of(step.tokens, step.step_time)),
                     step.skipped ? "; no update: a gradient overflowed" : "") +
         (step.evaluation
              ? fmt::format("; validation loss {}", significant(step.evaluation->loss, 5))
              : "");
}

TrainingSummary summarize(const RunLog& run) {
  TrainingSummary summary;
  summary.steps = static_cast<int>(run.steps.size());
  summary.first_loss = run.steps.front().loss;
  summary.last_loss = run.steps.back().loss;
  const std::size_t first = run.steps.size() > kWarmUpSteps ? kWarmUpSteps : 0;
  std::vector<Duration> times;
  times.reserve(run.steps.size());
  std::int64_t tokens = 0;
  Duration total{};
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    summary.skipped_updates += run.steps[i].skipped ? 1 : 0;
    if (i < first) continue;
    times.push_back(run.steps[i].step_time);
    tokens += run.steps[i].tokens;
    total += run.steps[i].step_time;
  }
  summary.timed_steps = static_cast<int>(times.size());
  summary.step_time = median_of(std::move(times));
  summary.tokens_per_second = tokens_per_second_of(tokens, total);
  return summary;
}

std::string training_report(const RunLog& run, const std::vector<PredictedPlan>& plans) {
  const TrainingSummary s = summarize(run);
  std::string out = fmt::format("{} of {} on {} ({}, {}){}\n", count_of(s.steps, "step"),
                                run.header.model, count_of(run.header.ranks, "rank"),
                                run.header.transport, run.header.device, losses(run, s));
  if (s.skipped_updates > 0) {
    out += fmt::format("{} without an update: a gradient overflowed\n",
                       count_of(s.skipped_updates, "step"));
  }
  out += evaluations(run);
  if (plans.size() == 1) return out + "step time " + times_in_words(s, plans.front().step_time);
  for (const PredictedPlan& plan : plans) {
    const RunLog own = under(plan, run);
    out += plan.path + ": " + count_of(static_cast<int>(own.steps.size()), "step");
    out +=
        own.steps.empty() ? "\n" : ", step time " + times_in_words(summarize(own), plan.step_time);
  }
  return out;
}

void set_training(Json& json, const RunLog& run, const std::vector<PredictedPlan>& plans) {
  const TrainingSummary s = summarize(run);
  json.set("model", run.header.model).set("ranks", run.header.ranks);
  json.set("transport", run.header.transport).set("device", run.header.device);
  json.set("first_loss", finite_or_null(s.first_loss));
  json.set("last_loss", finite_or_null(s.last_loss));
  json.set("step_time_ns", std::int64_t{s.step_time.count()}).set("timed_steps", s.timed_steps);
  const bool is_one = plans.size() == 1;
  json.set("predicted_step_time_ns",
           is_one ? Json(std::int64_t{plans.front().step_time.count()}) : Json());
  json.set("tokens_per_second", s.tokens_per_second);
  if (!is_one) json.set("plans", to_json(run, plans));
  Json steps = Json::array();
  for (const MeasuredStep& step : run.steps) steps.push(to_json(step));
  json.set("steps", std::move(steps));
}

}  // namespace penstock
