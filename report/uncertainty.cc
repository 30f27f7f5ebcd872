// Two tables of numbers in words and as JSON: what a scenario changes, compared with the same
// replay without it, and the percentiles of a step that is replayed with jitter. Nothing is
// computed here but ratios; where nothing was measured, the text says that jitter changes nothing
// instead of printing equal numbers.
#include "report/uncertainty.h"

#include <string_view>

#include <fmt/format.h>

#include "report/screen.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kLongest = 200;  // a line of a file

std::string line(std::string_view name, const std::string& value, Screen screen) {
  return wrapped(value, screen.width(kLongest), fmt::format("  {:<22}", name),
                 std::string(24, ' '));
}

// "21.8 % longer than without"
std::string compared(Duration step, Duration without) {
  if (step == without || without == Duration{}) return "as long as without";
  const double share =
      static_cast<double>(step.count()) / static_cast<double>(without.count()) - 1.0;
  return (share > 0.0 ? percent(share) + " longer" : percent(-share) + " shorter") +
         " than without";
}

std::string spreads_of(const JitterResult& result) {
  if (result.assumed_percent.empty()) return "as measured";
  return fmt::format("{} % of the duration, assumed where none was measured",
                     result.assumed_percent);
}

std::string scenario_text(const ScenarioResult& result, Screen screen) {
  std::string out = "\nScenario\n" + wrapped(result.scenario, screen.width(), "  ", "    ");
  out += line("step with it",
              to_text(result.step_time) + ", " +
                  compared(result.step_time, result.step_time_without) + " it",
              screen);
  out += line("step without it", to_text(result.step_time_without), screen);
  out += line(
      "busiest rank",
      fmt::format("{}, with {} of work; without the scenario {}, with {}", result.busiest_rank,
                  to_text(result.work), result.busiest_rank_without, to_text(result.work_without)),
      screen);
  return out;
}

std::string jitter_text(const JitterResult& result, Screen screen) {
  if (!result.has_spreads) {
    return "\nJitter\n  no spreads were measured, so jitter changes nothing; --jitter-percent N "
           "assumes N %\n";
  }
  std::string out = "\nJitter\n";
  out += line("median step",
              to_text(result.median) + ", " + compared(result.median, result.step_time) + " jitter",
              screen);
  out += line(
      "between",
      fmt::format("{} and {}, the 5th and 95th percentile of {} (seed {})", to_text(result.low),
                  to_text(result.high), count_of(result.samples, "sample"), result.seed),
      screen);
  out += line("spreads", spreads_of(result), screen);
  if (result.replicas_share) {
    out += line("replicas", "share their samples: the slowest of independent ones takes longer",
                screen);
  }
  return out;
}

Json jitter_json(const JitterResult& result) {
  Json json = Json::object();
  json.set("samples", std::int64_t{result.samples});
  json.set("seed", static_cast<std::int64_t>(result.seed));
  json.set("has_spreads", result.has_spreads);
  json.set("assumed_percent",
           result.assumed_percent.empty() ? Json() : Json(result.assumed_percent));
  json.set("replicas_share_samples", result.replicas_share);
  json.set("step_time_ns", std::int64_t{result.step_time.count()});
  json.set("step_time_p5_ns", std::int64_t{result.low.count()});
  json.set("step_time_median_ns", std::int64_t{result.median.count()});
  json.set("step_time_p95_ns", std::int64_t{result.high.count()});
  return json;
}

}  // namespace

Json to_json(const ScenarioResult& result) {
  return Json::object()
      .set("scenario", result.scenario)
      .set("step_time_ns", std::int64_t{result.step_time.count()})
      .set("step_time_without_ns", std::int64_t{result.step_time_without.count()})
      .set("busiest_rank", static_cast<std::int64_t>(result.busiest_rank))
      .set("busiest_rank_without", static_cast<std::int64_t>(result.busiest_rank_without))
      .set("busiest_rank_work_ns", std::int64_t{result.work.count()})
      .set("busiest_rank_work_without_ns", std::int64_t{result.work_without.count()});
}

std::string uncertainty_text(const Uncertainty& uncertainty, Screen screen) {
  return (uncertainty.scenario ? scenario_text(*uncertainty.scenario, screen) : "") +
         (uncertainty.jitter ? jitter_text(*uncertainty.jitter, screen) : "");
}

void set_uncertainty(Json& json, const Uncertainty& uncertainty) {
  if (uncertainty.scenario) json.set("scenario", to_json(*uncertainty.scenario));
  if (uncertainty.jitter) json.set("jitter", jitter_json(*uncertainty.jitter));
}

}  // namespace penstock
