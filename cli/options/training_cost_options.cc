// From the step to the whole training: tokens give the steps, the price per GPU-hour the dollars,
// and the mean time between failures what checkpoints and restarts add.
#include "cli/options/training_cost_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "core/values/units.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000'000'000'000;
constexpr double kLeastUsd = 1e-6, kMostUsd = 1e6;
constexpr double kLeastMtbfHours = 1e-3, kMostMtbfHours = 1e12;
constexpr double kMostMinutes = 1e6;
// Where nothing is given. The report says that they are assumed.
constexpr double kAssumedCheckpointMinutes = 2.0, kAssumedRestartMinutes = 10.0;

int zeros_of(char suffix) {
  switch (suffix) {
    case 'K':
      return 3;
    case 'M':
      return 6;
    case 'B':
      return 9;
    case 'T':
      return 12;
    default:
      return 0;
  }
}

// The decimal number with its point moved right by `zeros`; nothing when that leaves digits behind
// the point, or when it is no number, or a larger one than is allowed.
std::optional<std::int64_t> whole(std::string_view number, int zeros) {
  const std::size_t point = std::min(number.find('.'), number.size());
  std::string digits(number.substr(0, point));
  std::string fraction(number.substr(std::min(point + 1, number.size())));
  if (digits.empty() || (point < number.size() && fraction.empty())) return {};
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (fraction.size() > static_cast<std::size_t>(zeros)) return {};
  fraction.resize(static_cast<std::size_t>(zeros), '0');
  std::int64_t value = 0;
  for (const char digit : digits + fraction) {
    if (digit < '0' || digit > '9') return {};
    const int last = digit - '0';
    if (value > (kMostTokens - last) / 10) return {};
    value = 10 * value + last;
  }
  return value;
}

// "2 T", "2t", "300G", "1,000": what to write instead, or nothing.
std::string plain_tokens(const std::string& text) {
  std::string plain = without_thousands(text, ',');
  if (plain.empty()) {
    std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
                 [](char c) { return c != ' '; });
  }
  for (const auto& [word, letter] :
       {std::pair{"tokens", ""}, std::pair{"trillion", "T"}, std::pair{"billion", "B"},
        std::pair{"million", "M"}, std::pair{"bn", "B"}, std::pair{"GB", "B"}, std::pair{"TB", "T"},
        std::pair{"MB", "M"}, std::pair{"tn", "T"}}) {
    if (plain.ends_with(word)) {
      plain.replace(plain.size() - std::string_view(word).size(), std::string::npos, letter);
    }
  }
  if (plain.empty()) return "";
  char& last = plain.back();
  last = last == 'G' ? 'B' : static_cast<char>(std::toupper(static_cast<unsigned char>(last)));
  const int zeros = zeros_of(last);
  const auto tokens =
      whole(std::string_view(plain).substr(0, plain.size() - (zeros > 0 ? 1 : 0)), zeros);
  return tokens && *tokens > 0 && plain != text ? plain : "";
}

double minutes(const char* option, const std::optional<std::string>& text, double otherwise) {
  if (const auto time = text ? parse_duration(*text) : std::nullopt; time && time->count() > 0) {
    constexpr double kMinute = 60e9;
    bad_option(
        option, fmt::format("it counts minutes, and '{}' has a unit", text->substr(0, 60)),
        fmt::format("write {} {:.4g}", option, static_cast<double>(time->count()) / kMinute));
  }
  return text ? parse_number(option, *text, 0.0, kMostMinutes) : otherwise;
}

FailureModel failures_of(const TrainingCostOptions& options) {
  FailureModel model;
  model.gpu_mtbf_hours =
      parse_number("--mtbf-hours", *options.mtbf, kLeastMtbfHours, kMostMtbfHours);
  model.checkpoint_hours =
      minutes("--checkpoint-minutes", options.checkpoint, kAssumedCheckpointMinutes) / 60.0;
  model.restart_hours =
      minutes("--restart-minutes", options.restart, kAssumedRestartMinutes) / 60.0;
  model.checkpoint_is_assumed = !options.checkpoint;
  model.restart_is_assumed = !options.restart;
  return model;
}

// A value that is wrong is told together with what is missing.
[[noreturn]] void refuse_failures_of_none(const TrainingCostOptions& options) {
  constexpr const char* kWhose =
      "; the time is that of one GPU: of a job that fails as a whole every H hours it is H times "
      "its number of GPUs";
  try {
    failures_of(options);
  } catch (const Error& error) {
    throw_bad_input(
        fmt::format("{} --tokens 2T, the tokens of the training in which failures are "
                    "counted{}",
                    error.what(), kWhose));
  }
  bad_option("--mtbf-hours", "failures need a training",
             fmt::format("add --tokens, for example --mtbf-hours {} --tokens 2T{}", *options.mtbf,
                         kWhose));
}

void require_tokens(bool asked, bool has_tokens, const std::string& what) {
  if (!asked || has_tokens) return;
  bad_option("--tokens", fmt::format("the samples of this {} have no tokens", what),
             "leave it out; it needs a model with a sequence length");
}

}  // namespace

void TrainingCostOptions::declare(Options& options) {
  options.heading("Time and price of the whole training");
  options.option(
      "--tokens", "N",
      "tokens to train on, for example 2T (K, M, B and T are powers of 1000): prints steps, days, "
      "GPU-hours and price",
      tokens);
  options.option("--usd-per-gpu-hour", "X",
                 "price of a GPU, instead of the one in the cluster file", price);
  options.option("--mtbf-hours", "H",
                 "mean time between failures of one GPU with its share of the node; by default "
                 "nothing fails",
                 mtbf);
  options.option("--checkpoint-minutes", "T",
                 "how long training stops for a checkpoint; default 2. The interval between "
                 "checkpoints follows from it (Daly 2006)",
                 checkpoint);
  options.option(
      "--restart-minutes", "T",
      "time from a failure until training runs again from the last checkpoint; default 10",
      restart);
}

std::optional<TrainingQuestion> TrainingCostOptions::question() const {
  if (!mtbf && (checkpoint || restart)) {
    bad_option(checkpoint ? "--checkpoint-minutes" : "--restart-minutes",
               "nothing is assumed to fail", "add --mtbf-hours, for example --mtbf-hours 50000");
  }
  if (!tokens && mtbf) {
    refuse_failures_of_none(*this);
  }
  if (!tokens) return {};
  TrainingQuestion question;
  question.tokens = parse_tokens("--tokens", *tokens);
  if (mtbf) question.failures = failures_of(*this);
  return question;
}

void TrainingCostOptions::read_price() const {
  if (price) parse_number("--usd-per-gpu-hour", *price, kLeastUsd, kMostUsd);
}

void TrainingCostOptions::set_price(ClusterSpec& cluster) const {
  if (!price) return;
  const double usd = parse_number("--usd-per-gpu-hour", *price, kLeastUsd, kMostUsd);
  for (DeviceType& type : cluster.device_types) type.usd_per_hour = usd;
}

void TrainingCostOptions::set_price(PlanFile& file) const {
  if (!price) return;
  const double usd = parse_number("--usd-per-gpu-hour", *price, kLeastUsd, kMostUsd);
  file.cluster.usd_per_hour = usd;
  for (PlanDevice& device : file.cluster.other_devices) device.usd_per_hour = usd;
}

void require_tokens(const std::optional<TrainingQuestion>& question, const ModelProfile& profile) {
  const bool has_tokens = std::any_of(
      profile.section_types.begin(), profile.section_types.end(), [](const SectionType& type) {
        return std::any_of(type.measurements.begin(), type.measurements.end(),
                           [](const Measurement& each) { return each.sequence_length > 0; });
      });
  require_tokens(question.has_value(), has_tokens, "profile");
}

void require_tokens(const std::optional<TrainingQuestion>& question, const Plan& plan) {
  require_tokens(question.has_value(), plan.sequence_length > 0, "plan");
}

std::int64_t parse_tokens(const std::string& option, const std::string& text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());  // "15e12"
  const std::string_view power = std::string_view(text).substr(std::min(e + 1, text.size()));
  int zeros = text.empty() ? 0 : zeros_of(text.back());
  constexpr int kMostZeros = 18;
  int exponent = 0;
  const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
  const bool is_power = error == std::errc{} && end == power.data() + power.size() &&
                        exponent >= 0 && exponent <= kMostZeros;
  if (is_power) zeros = exponent;
  const std::size_t digits = is_power ? e : text.size() - (zeros > 0 ? 1 : 0);
  const auto tokens = whole(std::string_view(text).substr(0, digits), zeros);
  std::string plain = tokens ? "" : plain_tokens(text);
  const std::string meant = tokens ? "" : before_slip(text);  // "15TT"
  if (meant.find_first_not_of("0123456789.") != std::string::npos && plain.empty()) {
    plain = plain_tokens(meant + ' ');
  }
  if (!plain.empty()) {
    bad_option(option, fmt::format("'{}' is not a number of tokens", text.substr(0, 60)),
               "write " + plain);
  }
  if (!tokens || *tokens == 0) {
    bad_option(option, fmt::format("'{}' is not a number of tokens", text.substr(0, 60)),
               "give a whole number from 1 to 10^18, for example 2T, 300B, 1.5T or 5000000");
  }
  return *tokens;
}

}  // namespace penstock
