#include "cli/options/measured_runs.h"

#include <cctype>

#include <fmt/format.h>

#include "cli/options/layout.h"
#include "cli/options/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) result.push_back(c);
  }
  return result;
}

void read_memory(const std::string& text, MeasuredRun& run) {
  constexpr std::string_view kUnit = "GiB";
  if (!text.ends_with(kUnit)) {
    bad_option(kMeasured, fmt::format("'{}' is not an amount of memory", text.substr(0, 40)),
               "write the peak of the fullest device after the time, for example 14.66s, 61.2GiB");
  }
  run.peak_memory = parse_gib(kMeasured, text.substr(0, text.size() - kUnit.size()));
}

MeasuredRun parse_run(const std::string& text, const PlanInputs& inputs,
                      const MeasuredDefaults& defaults) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    bad_option(kMeasured, fmt::format("'{}' has no step time", text.substr(0, 60)),
               "write the configuration, a colon and the time of a step, for example "
               "\"TP=4 PP=4 mbs=1 gbs=128: 14.66s\"");
  }
  const Layout layout = parse_layout(kMeasured, text.substr(0, colon));
  MeasuredRun run;
  run.name = text.substr(0, colon);
  run.plan = plan_of(layout, *inputs.profile, {0, 0, defaults.sequence_length, defaults.device},
                     kMeasured);
  if (run.plan.cuts.empty()) run.plan = evaluate(inputs, run.plan).plan;
  const std::string measured = without_blanks(text.substr(colon + 1));
  const std::size_t comma = measured.find(',');
  run.step_time = parse_time(kMeasured, measured.substr(0, comma));
  if (run.step_time <= Duration{})
    bad_option(kMeasured, "a step takes no time", "give it in s or ms");
  if (comma != std::string::npos) read_memory(measured.substr(comma + 1), run);
  return run;
}

}  // namespace

MeasuredRuns parse_measured(const std::vector<std::string>& texts, const PlanInputs& inputs,
                            const MeasuredDefaults& defaults) {
  MeasuredRuns runs;
  runs.name = kMeasured;
  runs.sources.push_back({"measured", Origin::kMeasured, kMeasured, ""});
  for (const std::string& text : texts) runs.runs.push_back(parse_run(text, inputs, defaults));
  return runs;
}

std::vector<std::string> words_of(const CalibrationResult& result) {
  std::string fitted;
  std::vector<std::string> lines;
  for (const FittedTerm& term : result.terms) {
    if (term.state != TermState::kFitted) continue;
    fitted += fitted.empty() ? "" : ", ";
    fitted += term.unit == TermUnit::kFactor
                  ? fmt::format("{} x {} (+- {})", term.name, fixed(term.value, 3),
                                fixed(term.deviation, 3))
                  : fmt::format("{} {}", term.name, to_text(round_up_to_ns(term.value * 1e-9)));
  }
  const auto runs = std::ssize(result.runs);
  lines.push_back(fmt::format("calibrated by {}: {}", count_of(runs, "measured run"),
                              fitted.empty() ? "nothing is fitted" : fitted));
  for (const FittedTerm& term : result.terms) {
    if (!term.is_suspicious()) continue;
    lines.push_back(
        fmt::format("suspicious: {} x {} lies outside 0.8 to 1.25; look whether device, "
                    "precision, T, recompute mode, batch and executor are those of the run",
                    term.name, fixed(term.value, 3)));
  }
  return lines;
}

}  // namespace penstock
