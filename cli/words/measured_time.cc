// A step of 16 GPUs with 64 samples of 4096 tokens at 9800 tokens/s takes 64 x 4096 / 9800 s, and a
// sixteenth of it where each GPU is that fast: both are said, since trainers print either.
#include "cli/words/measured_time.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::string_view kDigits = "0123456789.";
constexpr double kSecondsPerMinute = 60.0, kSecondsPerHour = 3600.0;

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [text](std::string_view end) { return text.ends_with(end); });
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string without(std::string text, std::string_view part) {
  const std::size_t at = text.find(part);
  return at == std::string::npos ? text : text.erase(at, part.size());
}

// "9.8k tok/sec/GPU": the number, and its unit as "tok/s/gpu".
struct Reading {
  std::string number, unit;
  double value = 0.0;
};

Reading reading_of(std::string_view typed) {
  std::string text;
  for (const char c : typed) {
    if (c == ' ' || c == '~') continue;
    text.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  const std::size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  Reading reading{text.substr(0, end), text.substr(end)};
  const auto result = std::from_chars(text.data(), text.data() + end, reading.value);
  if (result.ec != std::errc() || result.ptr != text.data() + end) return {};
  for (const std::string_view word : {"second", "sec"}) {
    const std::size_t at = reading.unit.find(word);
    const bool is_per = at != std::string::npos && at > 0 && reading.unit[at - 1] == '/';
    if (is_per) reading.unit.replace(at, word.size(), "s");
  }
  return reading;
}

std::string seconds_text(double seconds) {
  constexpr int kDecimals = 3;
  return seconds < 1.0 ? fixed(seconds * 1e3, kDecimals) + "ms" : fixed(seconds, kDecimals) + "s";
}

std::string quoted(const std::string& typed) { return fmt::format("'{}'", typed.substr(0, 60)); }

bool is_rate_of_steps(std::string_view unit) {
  return is_any(unit, {"it/s", "its/s", "iter/s", "iters/s", "iteration/s", "iterations/s",
                       "step/s", "steps/s"});
}

bool is_rate_of_samples(std::string_view unit) {
  return is_any(unit, {"sample/s", "samples/s", "seq/s", "seqs/s", "sequence/s", "sequences/s",
                       "example/s", "examples/s"});
}

bool is_rate_of_tokens(std::string_view unit) {
  return is_any(unit, {"tok/s", "toks/s", "token/s", "tokens/s", "t/s", "tps", "wps"});
}

// Steps, samples or tokens a second as the time of a step.
void refuse_rate(const std::string& typed, const std::string& name, const Plan& plan) {
  Reading rate = reading_of(typed);
  const bool of_each = rate.unit.find("/gpu") != std::string::npos;
  std::string unit = without(rate.unit, "/gpu");
  const bool is_kilo = unit.starts_with('k');
  if (is_kilo) unit.erase(0, 1);
  const bool of_steps = is_rate_of_steps(unit), of_samples = is_rate_of_samples(unit);
  const bool has_tokens = is_rate_of_tokens(unit) && plan.sequence_length > 0;
  if (!(of_steps || of_samples || has_tokens) || !(rate.value > 0.0)) return;
  const double thousand = is_kilo ? 1e3 : 1.0;
  const double in_step = of_steps     ? 1.0
                         : of_samples ? plan.global_batch
                                      : 1.0 * plan.global_batch * plan.sequence_length;
  const std::string amount =
      of_steps     ? "1"
      : of_samples ? fmt::format("{} samples", plan.global_batch)
                   : fmt::format("{} x {} tokens", plan.global_batch, plan.sequence_length);
  const double time = in_step / (rate.value * thousand);
  const double shared = time / plan.devices();
  const std::string number = rate.number + (is_kilo ? "000" : "");
  const std::string shown = is_kilo ? fmt::format("{:.0f}", rate.value * thousand) : number;
  const std::string what = quoted(typed) + " is a rate, and the time of a step belongs here";
  if (of_each) {
    bad_option(kMeasured, what,
               fmt::format("{} / ({} a second x {}) is {}: write {}", amount, shown,
                           count_of(plan.devices(), "GPU"), seconds_text(shared),
                           measured_option(name, seconds_text(shared))));
  }
  const std::string other =
      of_steps || plan.devices() == 1
          ? ""
          : fmt::format("; where each of the {} does so many: {}", count_of(plan.devices(), "GPU"),
                        measured_option(name, seconds_text(shared)));
  bad_option(kMeasured, what,
             fmt::format("{} / {} a second is {}: write {}{}", amount, shown, seconds_text(time),
                         measured_option(name, seconds_text(time)), other));
}

void refuse_log(const std::string& typed) {
  std::error_code error;
  const bool is_file =
      ends_with_any(typed, {".log", ".txt", ".out", ".jsonl", ".json", ".csv", ".tsv"}) ||
      std::filesystem::exists(typed, error);
  if (!is_file) return;
  const std::string what = quoted(typed) + " is a file, and the time of a step belongs here";
  if (typed.ends_with("runs.json")) {
    bad_option(kMeasured, what, "penstock calibrate --runs " + typed + " fits to many runs");
  }
  bad_option(kMeasured, what,
             fmt::format("penstock validate plan.json {} compares a log with a plan, which -o "
                         "plan.json writes here; or write the time of one step, as --measured "
                         "14.66s",
                         typed));
}

// "38%", "MFU 0.38", "400 TFLOP/s": what follows from the time, and does not say it alone.
void refuse_utilisation(const std::string& typed) {
  const Reading reading = reading_of(typed);
  std::string plain(typed);
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool is_one = reading.unit == "%" || plain.find("mfu") != std::string::npos ||
                      plain.find("flop") != std::string::npos;
  if (!is_one) return;
  bad_option(kMeasured,
             quoted(typed) + " is no time: MFU and TFLOP/s depend on how operations are counted",
             "without --measured predict prints its MFU and TFLOP/s beside the time, to compare "
             "with; with it write the time of a step, as --measured 14.66s");
}

// A number alone is in milliseconds in Megatron-LM's logs, where it is large, and else in seconds.
void refuse_unitless(const std::string& typed, const std::string& name) {
  constexpr double kManySeconds = 100.0;
  const Reading reading = reading_of(typed);
  if (reading.number.empty() || !reading.unit.empty()) return;
  const std::string ms = reading.number + "ms", s = reading.number + "s";
  bad_option(kMeasured, quoted(typed) + " has no unit",
             reading.value >= kManySeconds
                 ? fmt::format("write {} (Megatron-LM's logs count ms), or {} for seconds",
                               measured_option(name, ms), s)
                 : fmt::format("write {}, or {} for milliseconds", measured_option(name, s), ms));
}

}  // namespace

std::string measured_option(const std::string& layout, const std::string& time) {
  return layout.empty() ? fmt::format("{} {}", kMeasured, time)
                        : fmt::format("{} \"{}: {}\"", kMeasured, layout, time);
}

std::string plain_step_time(const std::string& typed) {
  const Reading reading = reading_of(typed);
  if (reading.number.empty()) return "";
  std::string unit = reading.unit;
  for (const std::string_view step : {"/it", "/iter", "/iteration", "/step", "/batch"}) {
    if (unit.ends_with(step)) unit.erase(unit.size() - step.size());
  }
  std::string text = reading.number + unit;
  if (parse_duration(text)) return text;
  if (std::string own = with_own_unit(text); !own.empty()) return own;
  if (is_any(unit, {"m", "min", "mins", "minute", "minutes"})) {
    return seconds_text(reading.value * kSecondsPerMinute);
  }
  if (is_any(unit, {"h", "hr", "hour", "hours"})) {
    return seconds_text(reading.value * kSecondsPerHour);
  }
  return "";
}

Duration step_time_of(const std::string& typed, const std::string& name, const Plan& plan) {
  if (const auto time = parse_duration(typed)) return *time;
  const std::string plain = plain_step_time(typed);
  // "2.4s/it" says it as well.
  if (!plain.empty() && plain == typed.substr(0, typed.find('/'))) return *parse_duration(plain);
  if (!plain.empty()) {
    bad_option(kMeasured, quoted(typed) + " is not a time",
               "write " + measured_option(name, plain));
  }
  refuse_rate(typed, name, plan);
  refuse_log(typed);
  refuse_utilisation(typed);
  refuse_unitless(typed, name);
  return parse_time(kMeasured, typed);
}

}  // namespace penstock
