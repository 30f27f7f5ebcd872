// Failures come at random at a constant rate (Poisson), and each costs the work since the last
// checkpoint and a restart: the expected time of a stretch grows exponentially with its length, as
// in Daly's model (Future Generation Computer Systems 22, 2006). The best distance between
// checkpoints follows from it; docs/cost_model.md derives both. A training that takes longer than a
// bound because of failures is said to make no progress, rather than given in years.
#include "report/training_cost.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/screen.h"
#include "report/words.h"

namespace penstock {
namespace {

// A training that takes this many times as long as without failures is called none. The factor
// grows exponentially with the failures, so where exactly the line is drawn matters little.
constexpr double kMostSlowdown = 1000.0;

double hours_of(Duration duration) { return static_cast<double>(duration.count()) / 3.6e12; }

std::int64_t steps_between_checkpoints(const FailureModel& model, double job_mtbf_hours,
                                       double step_hours, std::int64_t steps) {
  if (step_hours <= 0.0) return steps;
  const double best = best_checkpoint_interval(model.checkpoint_hours, job_mtbf_hours);
  const double between = std::round(best / step_hours);
  if (between >= static_cast<double>(steps)) return steps;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(between));
}

// Every stretch of steps ends with a checkpoint, the last one with the trained weights.
double hours_with_failures(const FailureEffect& effect, double step_hours, std::int64_t steps) {
  const auto stretch = [&](std::int64_t length) {
    return expected_hours(static_cast<double>(length) * step_hours + effect.model.checkpoint_hours,
                          effect.model.restart_hours, effect.job_mtbf_hours);
  };
  const std::int64_t rest = steps % effect.steps_between_checkpoints;
  const std::int64_t full = steps / effect.steps_between_checkpoints;
  double hours = rest > 0 ? stretch(rest) : 0.0;
  if (full > 0) hours += static_cast<double>(full) * stretch(effect.steps_between_checkpoints);
  return hours;
}

TrainingTotals totals(double hours, int gpus, double usd_per_hour) {
  return {.hours = hours, .gpu_hours = hours * gpus, .usd = hours * usd_per_hour};
}

double hours_of_checkpoints(const TrainingCost& cost) {
  const std::int64_t between = cost.failures->steps_between_checkpoints;
  const std::int64_t checkpoints = cost.steps / between + (cost.steps % between == 0 ? 0 : 1);
  return static_cast<double>(checkpoints) * cost.failures->model.checkpoint_hours;
}

FailureEffect effect_of(const FailureModel& model, const TrainingCost& cost, double step_hours) {
  FailureEffect effect;
  effect.model = model;
  effect.job_mtbf_hours = model.gpu_mtbf_hours / cost.gpus;
  effect.steps_between_checkpoints =
      steps_between_checkpoints(model, effect.job_mtbf_hours, step_hours, cost.steps);
  effect.hours_between_checkpoints =
      static_cast<double>(effect.steps_between_checkpoints) * step_hours;
  return effect;
}

// False also for what is no number.
bool makes_progress(const TrainingCost& cost, double hours, double hours_of_steps) {
  return hours <= kMostSlowdown * (hours_of_steps + hours_of_checkpoints(cost));
}

void set_shares(TrainingCost& cost) {
  FailureEffect& effect = *cost.failures;
  const double hours = cost.expected.hours;
  effect.failures = hours / effect.job_mtbf_hours;
  if (hours <= 0.0) return;
  const double checkpoints = hours_of_checkpoints(cost);
  effect.checkpoint_share = checkpoints / hours;
  effect.lost_share = std::max(0.0, hours - cost.without_failures.hours - checkpoints) / hours;
}

// "103.5 days", "7.25 h", "3.5 min"
std::string span_of(double hours, int digits) {
  if (hours >= 48.0) return significant(hours / 24.0, digits) + " days";
  if (hours >= 1.0) return significant(hours, digits) + " h";
  return significant(60.0 * hours, std::min(digits, 3)) + " min";
}

// "0.56 s", too
std::string short_span(double hours) {
  constexpr double kSecondsPerHour = 3600.0, kMinute = 60.0;
  const double seconds = kSecondsPerHour * hours;
  return seconds < kMinute ? significant(seconds, 2) + " s" : span_of(hours, 3);
}

std::string span(double hours) { return span_of(hours, 4); }

std::string line(std::string_view name, const std::string& value, Screen screen) {
  return wrapped(value, screen.width(), fmt::format("  {:<22}", name), std::string(24, ' '));
}

template <class Show>
std::string between(const TrainingCost& cost, double TrainingTotals::*part, const Show& show) {
  return fmt::format("{}, between {} and {}", show(cost.expected.*part), show(cost.low.*part),
                     show(cost.high.*part));
}

std::string hours_in_short(double hours) {
  constexpr double kMany = 1000.0;
  return hours >= kMany ? fixed(hours, 0) : fmt::format("{:.6g}", hours);
}

// Failures that come before a checkpoint and a restart are over, or within a few steps: nobody
// means that, and the hours are those of the whole job. Empty where they are not.
std::string hours_of_job(const TrainingCost& cost) {
  constexpr double kFewSteps = 10.0;
  const FailureEffect& effect = *cost.failures;
  const double step =
      effect.hours_between_checkpoints / static_cast<double>(effect.steps_between_checkpoints);
  const double between = effect.job_mtbf_hours;
  const bool is_odd = !cost.why_never.empty() || between < kFewSteps * step ||
                      between < effect.model.checkpoint_hours + effect.model.restart_hours;
  if (!is_odd || cost.gpus <= 1) return "";
  const double hours = effect.model.gpu_mtbf_hours;
  return fmt::format(
      "--mtbf-hours counts the hours of one GPU, of {} one fails every {}; for {} h of the whole "
      "job write --mtbf-hours {}",
      with_commas(cost.gpus), short_span(between), hours_in_short(hours),
      hours_in_short(hours * cost.gpus));
}

std::string failures_text(const TrainingCost& cost, Screen screen) {
  if (!cost.failures) return line("failures", "none assumed; --mtbf-hours H counts them", screen);
  const FailureEffect& effect = *cost.failures;
  const FailureModel& model = effect.model;
  const auto minutes = [](double hours, bool is_assumed) {
    return fmt::format("{} min{}", significant(60.0 * hours, 3), is_assumed ? " (assumed)" : "");
  };
  std::string out = line("failures",
                         fmt::format("a GPU fails after {} h on average, so one of {} after {}",
                                     significant(model.gpu_mtbf_hours, 4), with_commas(cost.gpus),
                                     span(effect.job_mtbf_hours)),
                         screen);
  if (const std::string note = hours_of_job(cost); !note.empty()) {
    out += line("of the whole job", note, screen);
  }
  const std::string each = fmt::format("a checkpoint takes {}, a restart {}",
                                       minutes(model.checkpoint_hours, model.checkpoint_is_assumed),
                                       minutes(model.restart_hours, model.restart_is_assumed));
  if (!cost.why_never.empty()) return out + line("against them", each, screen);
  out += line("expected failures", significant(effect.failures, 3), screen);
  out += line("checkpoints",
              fmt::format("every {} ({}), the best interval by Daly; {}",
                          count_of(effect.steps_between_checkpoints, "step"),
                          span(effect.hours_between_checkpoints), each),
              screen);
  return out + line("without failures",
                    fmt::format("{}; of the time {} goes to checkpoints, {} to failures",
                                span(cost.without_failures.hours), percent(effect.checkpoint_share),
                                percent(effect.lost_share)),
                    screen);
}

std::string four_digits(double number) { return significant(number, 4); }

std::string dollars(double usd) { return "$" + (usd >= 1000.0 ? four_digits(usd) : fixed(usd, 2)); }

std::string totals_text(const TrainingCost& cost, Screen screen) {
  return line("time", between(cost, &TrainingTotals::hours, span), screen) +
         line("GPU-hours", between(cost, &TrainingTotals::gpu_hours, four_digits), screen) +
         line("price",
              cost.expected.usd > 0.0 ? between(cost, &TrainingTotals::usd, dollars)
                                      : "unknown; --usd-per-gpu-hour X says what a GPU costs",
              screen);
}

// Six decimals, so that the last bit of an exponential shows nowhere.
Json number(double value) { return {std::round(value * 1e6) / 1e6}; }

void set_totals(Json& json, const TrainingCost& cost) {
  const auto set = [&](const std::string& key, double TrainingTotals::*part) {
    json.set(key, number(cost.expected.*part));
    json.set(key + "_low", number(cost.low.*part));
    json.set(key + "_high", number(cost.high.*part));
  };
  set("time_hours", &TrainingTotals::hours);
  set("gpu_hours", &TrainingTotals::gpu_hours);
  if (cost.expected.usd > 0.0) set("cost_usd", &TrainingTotals::usd);
  json.set("time_without_failures_hours", number(cost.without_failures.hours));
}

Json failures_json(const TrainingCost& cost) {
  const FailureEffect& effect = *cost.failures;
  Json json = Json::object();
  json.set("gpu_mtbf_hours", effect.model.gpu_mtbf_hours);
  json.set("job_mtbf_hours", number(effect.job_mtbf_hours));
  json.set("checkpoint_minutes", number(60.0 * effect.model.checkpoint_hours));
  json.set("checkpoint_minutes_assumed", effect.model.checkpoint_is_assumed);
  json.set("restart_minutes", number(60.0 * effect.model.restart_hours));
  json.set("restart_minutes_assumed", effect.model.restart_is_assumed);
  if (!cost.why_never.empty()) return json;
  json.set("steps_between_checkpoints", effect.steps_between_checkpoints);
  json.set("expected_failures", number(effect.failures));
  json.set("checkpoint_share", number(effect.checkpoint_share));
  json.set("lost_share", number(effect.lost_share));
  return json;
}

}  // namespace

std::string tokens_in_short(std::int64_t tokens) {
  constexpr std::int64_t kMillion = 1'000'000;
  for (const auto& [unit, letter] : {std::pair{kMillion * kMillion, 'T'},
                                     std::pair{1'000 * kMillion, 'B'}, std::pair{kMillion, 'M'}}) {
    if (tokens < unit) continue;
    if (tokens % (unit / kMillion) != 0) break;
    std::string text = fmt::format("{}.{:06}", tokens / unit, tokens % unit / (unit / kMillion));
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text + letter;
  }
  return with_commas(tokens);
}

// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
// Future Generation Computer Systems 22 (2006), equation 37; without its corrections it is Young's
// sqrt(2 c m) (Communications of the ACM 17, 1974).
double best_checkpoint_interval(double checkpoint_hours, double job_mtbf_hours) {
  if (checkpoint_hours >= 2.0 * job_mtbf_hours) return job_mtbf_hours;
  const double ratio = checkpoint_hours / (2.0 * job_mtbf_hours);
  const double young = std::sqrt(2.0 * checkpoint_hours * job_mtbf_hours);
  return young * (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) - checkpoint_hours;
}

double expected_hours(double hours, double restart_hours, double job_mtbf_hours) {
  return job_mtbf_hours * std::exp(restart_hours / job_mtbf_hours) *
         std::expm1(hours / job_mtbf_hours);
}

std::optional<TrainingCost> training_cost(const std::optional<TrainingQuestion>& question,
                                          const Plan& plan, const Evaluation& evaluation) {
  if (!question) return {};
  TrainingCost cost;
  cost.tokens = question->tokens;
  cost.tokens_per_step = tokens_per_step(plan);
  cost.steps = (question->tokens - 1) / cost.tokens_per_step + 1;
  cost.gpus = plan.devices();
  const double step_hours = hours_of(evaluation.step_time);
  if (question->failures) cost.failures = effect_of(*question->failures, cost, step_hours);
  const double usd_per_hour = step_hours > 0.0 ? evaluation.usd_per_step / step_hours : 0.0;
  const auto steps = static_cast<double>(cost.steps);
  cost.without_failures = totals(steps * step_hours, cost.gpus, usd_per_hour);
  const auto at = [&](Duration step_time) {
    const double hours = cost.failures
                             ? hours_with_failures(*cost.failures, hours_of(step_time), cost.steps)
                             : steps * hours_of(step_time);
    return totals(hours, cost.gpus, usd_per_hour);
  };
  const TrainingTotals high = at(evaluation.step_time_high);
  if (cost.failures &&
      !makes_progress(cost, high.hours, steps * hours_of(evaluation.step_time_high))) {
    cost.why_never = fmt::format("never: failures would make it take more than {} times as long",
                                 with_commas(static_cast<std::int64_t>(kMostSlowdown)));
    return cost;
  }
  cost.expected = at(evaluation.step_time);
  cost.low = at(evaluation.step_time_low);
  cost.high = high;
  if (cost.failures) set_shares(cost);
  return cost;
}

bool ends(const std::optional<TrainingCost>& cost) { return !cost || cost->why_never.empty(); }

std::string time_text(const TrainingCost& cost) {
  return ends(cost) ? span(cost.expected.hours) : "never";
}

std::string price_text(const TrainingCost& cost) {
  return cost.expected.usd > 0.0 ? dollars(cost.expected.usd) : "-";
}

// Three digits, as the step time above it has: "81.9 days (75.5 to 122 days)".
std::string training_sentence(const TrainingCost& cost) {
  if (!ends(cost)) {
    constexpr std::string_view kNever = "never: ";
    const std::string why =
        cost.why_never.substr(cost.why_never.starts_with(kNever) ? kNever.size() : 0);
    const std::string note = cost.failures ? hours_of_job(cost) : "";
    return fmt::format("Training never ends: {}{}.", why, note.empty() ? "" : ". " + note);
  }
  const std::string low = span_of(cost.low.hours, 3), high = span_of(cost.high.hours, 3);
  const bool is_one_unit = low.substr(low.find(' ')) == high.substr(high.find(' '));
  std::string text = fmt::format("Training on {} tokens takes {} ({} to {})",
                                 tokens_in_short(cost.tokens), span_of(cost.expected.hours, 3),
                                 low.substr(0, is_one_unit ? low.find(' ') : low.size()), high);
  if (cost.expected.usd > 0.0) text += " and costs " + dollars(cost.expected.usd);
  if (!cost.failures) return text + ", without failures.";
  const FailureEffect& effect = *cost.failures;
  const std::string note = hours_of_job(cost);
  return text + fmt::format(", {} failures included; a checkpoint every {}.{}",
                            significant(effect.failures, 2),
                            span_of(effect.hours_between_checkpoints, 2),
                            note.empty() ? "" : " Note: " + note + ".");
}

std::string training_text(const std::optional<TrainingCost>& cost, Screen screen) {
  if (!cost) return "";
  return fmt::format("\nTraining on {} tokens\n", tokens_in_short(cost->tokens)) +
         line("steps",
              fmt::format("{}, each of {} tokens, on {}", with_commas(cost->steps),
                          with_commas(cost->tokens_per_step), count_of(cost->gpus, "GPU")),
              screen) +
         (ends(cost) ? totals_text(*cost, screen) : line("time", cost->why_never, screen)) +
         failures_text(*cost, screen);
}

Json to_json(const TrainingCost& cost) {
  Json json = Json::object();
  json.set("tokens", cost.tokens);
  json.set("tokens_per_step", cost.tokens_per_step);
  json.set("steps", cost.steps);
  json.set("gpus", cost.gpus);
  if (cost.why_never.empty()) set_totals(json, cost);
  if (!cost.why_never.empty()) json.set("why_never", cost.why_never);
  json.set("failures", cost.failures ? failures_json(cost) : Json());
  return json;
}

}  // namespace penstock
