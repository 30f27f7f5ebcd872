#include "cli/options/measured_runs.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "cli/options/layout.h"
#include "cli/options/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kLongestNumber = 12;

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
  if (run.peak_memory->count <= 0) {
    bad_option(kMeasured, "a run takes no memory",
               "write the peak of the fullest device, or leave it out");
  }
}

Plan plan_of_run(const std::string& layout, const ModelProfile& profile,
                 const MeasuredDefaults& defaults) {
  return plan_of(parse_layout(kMeasured, layout), profile,
                 {0, 0, defaults.sequence_length, defaults.device}, kMeasured);
}

// In a cluster of one type; of several the search says which type is short.
void require_room(const MeasuredRun& run, const ClusterSpec& cluster) {
  const int there = device_count(cluster);
  if (run.plan.devices() <= there) return;
  bad_option(kMeasured,
             fmt::format("'{}' takes {}, and the cluster has {}", run.name.substr(0, 60),
                         count_of(run.plan.devices(), "GPU"), there),
             "give the --cluster that it ran on, and with --gpus how many are planned for");
}

MeasuredRun parse_run(const std::string& text, const PlanInputs& inputs,
                      const MeasuredDefaults& defaults) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const bool is_number = !text.empty() && text.size() <= kLongestNumber &&
                           text.find_first_not_of("0123456789.") == std::string::npos;
    const bool is_time = parse_duration(text).has_value();
    bad_option(kMeasured,
               is_number || is_time ? fmt::format("'{}' does not say of which configuration", text)
                                    : fmt::format("'{}' has no step time", text.substr(0, 60)),
               fmt::format("write the configuration, a colon and the time of a step, for example "
                           "\"TP=4 PP=4 mbs=1 gbs=128: {}\"",
                           is_number ? text + "s"
                           : is_time ? text
                                     : "14.66s"));
  }
  MeasuredRun run;
  run.name = text.substr(0, colon);
  run.plan = plan_of_run(run.name, *inputs.profile, defaults);
  require_room(run, *inputs.cluster);
  if (run.plan.cuts.empty()) run.plan = evaluate(inputs, run.plan).plan;
  const std::string measured = without_blanks(text.substr(colon + 1));
  const std::size_t comma = measured.find(',');
  run.step_time = parse_time(kMeasured, measured.substr(0, comma));
  if (run.step_time <= Duration{})
    bad_option(kMeasured, "a step takes no time", "give it in s or ms");
  if (comma != std::string::npos) read_memory(measured.substr(comma + 1), run);
  return run;
}

// As far from 1 as a factor may be before it is called suspicious.
constexpr double kMostError = 0.25;

bool is_far(double predicted, double measured) {
  return std::abs(std::log(predicted / measured)) > std::log1p(kMostError);
}

// The first run that the fit does not explain: "'TP=4 PP=4' took 26 s, and is predicted at 17.3 s
// all the same".
std::string unexplained(const std::vector<RunFit>& runs) {
  for (const RunFit& run : runs) {
    if (is_far(static_cast<double>(run.predicted.count()),
               static_cast<double>(run.measured.count()))) {
      return fmt::format("'{}' took {}, and is predicted at {} all the same",
                         run.name.substr(0, 60), to_text(run.measured), to_text(run.predicted));
    }
  }
  for (const RunFit& run : runs) {
    if (run.measured_memory && is_far(static_cast<double>(run.predicted_memory.count),
                                      static_cast<double>(run.measured_memory->count))) {
      return fmt::format("'{}' held {} GiB, and is predicted at {} GiB all the same",
                         run.name.substr(0, 60), gib(*run.measured_memory),
                         gib(run.predicted_memory));
    }
  }
  return "";
}

}  // namespace

int most_gpus_of(const std::vector<std::string>& texts, const ModelProfile& profile,
                 const MeasuredDefaults& defaults) {
  int most = 0;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) continue;  // refused where the runs are read
    most = std::max(most, plan_of_run(text.substr(0, colon), profile, defaults).devices());
  }
  return most;
}

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

std::string doubts_of(const CalibrationResult& result) {
  std::string what;
  for (const FittedTerm& term : result.terms) {
    if (!term.is_suspicious()) continue;
    what = fmt::format("the fit makes {} {} times the estimate, where 0.8 to 1.25 is usual",
                       term.name, fixed(term.value, 2));
    break;
  }
  const std::string run = unexplained(result.runs);
  if (what.empty() && run.empty()) return "";
  return fmt::format(
      "Check --measured first: {}{}{}. Are device, precision, layout and batch those of the run?",
      what, !what.empty() && !run.empty() ? "; " : "", run);
}

}  // namespace penstock
