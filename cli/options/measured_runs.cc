#include "cli/options/measured_runs.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "cli/options/layout.h"
#include "cli/words/measured_time.h"
#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
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

// A run of which no layout is known: the time is kept as it was typed.
[[noreturn]] void refuse_without_layout(const std::string& text) {
  const std::string time = plain_step_time(text), bare = plain_step_time(text + "s");
  const bool is_time = !time.empty() || !bare.empty();
  bad_option(kMeasured,
             is_time ? fmt::format("'{}' does not say of which configuration", text.substr(0, 60))
                     : fmt::format("'{}' has no step time", text.substr(0, 60)),
             fmt::format("write the configuration, a colon and the time of a step, for example "
                         "\"TP=4 PP=4 mbs=1 gbs=128: {}\"",
                         !time.empty()   ? time
                         : !bare.empty() ? bare
                                         : "14.66s"));
}

// "4.4s,4.5s": the times of two steps.
void refuse_second_time(const std::string& typed, const std::string& name) {
  const std::size_t comma = typed.find(',');
  const std::string first = plain_step_time(typed.substr(0, comma)),
                    second = plain_step_time(typed.substr(comma + 1));
  if (first.empty() || second.empty()) return;
  bad_option(kMeasured, fmt::format("'{}' are several times, and a run has one", typed),
             fmt::format("write their median, or each as a run of its own: {} {}",
                         measured_option(name, first), measured_option(name, second)));
}

// "9,800tok/s" and "3,120.4ms" without the commas; "14,66s" with a point.
std::string with_plain_number(const std::string& typed) {
  const std::size_t end = std::min(typed.find_first_not_of("0123456789,."), typed.size());
  const std::string number = typed.substr(0, end), unit = typed.substr(end);
  const std::size_t point = std::min(number.find('.'), number.size());
  const std::string whole = without_thousands(number.substr(0, point), ',');
  if (!whole.empty() && unit != "s") return whole + number.substr(point) + unit;
  const std::size_t comma = number.find(',');
  const bool is_inside = comma != std::string::npos && comma > 0 && comma + 1 < number.size();
  const bool is_decimal =
      is_inside && point == number.size() && number.rfind(',') == comma && !unit.empty();
  return is_decimal ? number.substr(0, comma) + '.' + number.substr(comma + 1) + unit : typed;
}

void refuse_commas(const std::string& typed, const std::string& name, const Plan& plan) {
  const std::string plain = with_plain_number(typed);
  if (plain == typed) return;
  static_cast<void>(step_time_of(plain, name, plan));  // a rate, or without a unit
  bad_option(kMeasured, fmt::format("'{}' is not a time", typed.substr(0, 60)),
             "write " + measured_option(name, plain));
}

// A log that counts milliseconds, read as seconds, or the other way about: no run takes a hundred
// times as long as its estimate, and none a hundredth of it.
void refuse_other_unit(const std::string& typed, const MeasuredRun& run, const PlanInputs& inputs) {
  constexpr double kMostTimes = 100.0;
  const Duration estimate = evaluate(inputs, run.plan).evaluation.step_time;
  if (estimate <= Duration{}) return;
  const double times =
      static_cast<double>(run.step_time.count()) / static_cast<double>(estimate.count());
  if (times < kMostTimes && times > 1.0 / kMostTimes) return;
  const std::string number = typed.substr(0, typed.find_first_not_of("0123456789.,eE+-"));
  const bool is_long = times > 1.0;
  bad_option(kMeasured,
             fmt::format("'{}' is {} the estimate of {}", typed.substr(0, 60),
                         is_long ? fmt::format("{:.0f} times", times)
                                 : fmt::format("a {:.0f}th part of", 1.0 / times),
                         to_text(estimate)),
             fmt::format("write {}{} if that is its unit; else device, layout and batch are not "
                         "those of the run",
                         number, is_long ? "ms" : "s"));
}

MeasuredRun parse_run(const std::string& text, const PlanInputs& inputs,
                      const MeasuredDefaults& defaults) {
  const std::string typed = layout_of_run(text);  // empty: the time alone
  if (typed.empty() && defaults.layout.empty()) refuse_without_layout(text);
  MeasuredRun run;
  run.name = typed.empty() ? defaults.layout : typed;
  run.plan = plan_of_run(run.name, *inputs.profile, defaults);
  require_room(run, *inputs.cluster);
  if (run.plan.cuts.empty()) run.plan = evaluate(inputs, run.plan).plan;
  const std::string measured = without_blanks(typed.empty() ? text : text.substr(typed.size() + 1));
  refuse_commas(measured, typed, run.plan);
  const std::size_t comma = measured.find(',');
  if (comma != std::string::npos) refuse_second_time(measured, typed);
  run.step_time = step_time_of(measured.substr(0, comma), typed, run.plan);
  if (run.step_time <= Duration{})
    bad_option(kMeasured, "a step takes no time", "give it in s or ms");
  refuse_other_unit(measured.substr(0, comma), run, inputs);
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

std::string layout_of_run(const std::string& text) {
  const std::size_t colon = text.rfind(':');  // replicas=2*a100:24 has others
  return colon == std::string::npos ? "" : text.substr(0, colon);
}

int most_gpus_of(const std::vector<std::string>& texts, const ModelProfile& profile,
                 const MeasuredDefaults& defaults) {
  int most = 0;
  for (const std::string& text : texts) {
    const std::string typed = layout_of_run(text);
    const std::string& layout = typed.empty() ? defaults.layout : typed;
    if (layout.empty()) continue;  // refused where the runs are read
    most = std::max(most, plan_of_run(layout, profile, defaults).devices());
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
