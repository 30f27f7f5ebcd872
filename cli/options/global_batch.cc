// A step's samples are refused when nobody can mean them: more tokens than four times the largest
// batch that was published, or a step of more than an hour even if no device ever waited. That
// bound is the sum of the cheapest measurement of every section.
#include "cli/options/global_batch.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kTokens = "--global-batch-tokens";
constexpr const char* kSamples = "--global-batch";
// The largest that we know of, DeepSeek-V3's (arXiv 2412.19437), is 15,360 samples of 4,096 tokens:
// 63 million. Four times that many tokens are a slip rather than a plan.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 28;
constexpr std::int64_t kManySamples = 1'000'000;
constexpr Duration kLongestStep = std::chrono::hours(1);

double power_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 1024.0;
    case 'm':
    case 'M':
      return 1024.0 * 1024.0;
    case 'b':
    case 'B':
    case 'g':
    case 'G':
      return 1024.0 * 1024.0 * 1024.0;
    default:
      return 0.0;
  }
}

// What one sample takes of a device at least: every section in its cheapest measurement.
Duration least_time_of_sample(const ModelProfile& profile, int sequence_length) {
  std::map<int, double> of_type;  // in ns; a section type is used many times
  double sum = 0.0;
  for (const Section& section : profile.sections) {
    auto [least, is_new] = of_type.try_emplace(section.type, 0.0);
    if (is_new) {
      double best = std::numeric_limits<double>::infinity();
      for (const Measurement& m :
           profile.section_types[static_cast<std::size_t>(section.type)].measurements) {
        if (sequence_length > 0 && m.sequence_length != sequence_length) continue;
        Duration time = m.forward.median;
        if (m.fused_backward) {
          time += m.fused_backward->median;
        } else if (m.input_gradient && m.weight_gradient) {
          time += m.input_gradient->median + m.weight_gradient->median;
        }
        const int devices = m.tensor_degree * m.context_degree;
        best = std::min(best, static_cast<double>(time.count()) * devices / m.micro_batch_size);
      }
      least->second = std::isfinite(best) ? best : 0.0;
    }
    sum += least->second;
  }
  return Duration{
      static_cast<std::int64_t>(std::min(sum, static_cast<double>(kLongestDuration.count())))};
}

void refuse_long_step(const Question& question) {
  const SearchRequest& request = question.request;
  const double sample = static_cast<double>(
      least_time_of_sample(question.profile.value, request.sequence_length).count());
  const double step = sample * request.global_batch / request.gpus;
  if (step <= static_cast<double>(std::chrono::nanoseconds(kLongestStep).count())) return;
  bad_option(kSamples,
             fmt::format("a step of {} samples takes {} hours on {} even if no GPU ever waits",
                         with_commas(request.global_batch), fixed(step / 3.6e12, 1),
                         count_of(request.gpus, "GPU")),
             fmt::format("a smaller batch, or more GPUs; if tokens were meant: {} {}; if it is "
                         "meant as it is: --large-batch",
                         kTokens, request.global_batch));
}

}  // namespace

int samples_in(const std::string& tokens, int sequence_length) {
  const std::string_view text = tokens;
  const double power = text.empty() ? 0.0 : power_of(text.back());
  const std::string_view number = power > 0.0 ? text.substr(0, text.size() - 1) : text;
  double value = 0.0;
  const char* end = number.data() + number.size();
  const auto result = std::from_chars(number.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !(value > 0.0) || !std::isfinite(value)) {
    bad_option(kTokens, fmt::format("'{}' is not a number of tokens", tokens.substr(0, 60)),
               "write for example 4M (4 x 1024 x 1024) or 4194304");
  }
  if (sequence_length <= 0) {
    bad_option(kTokens, "this model's samples have no length", "count samples: --global-batch 512");
  }
  const double samples = value * std::max(power, 1.0) / sequence_length;
  if (samples < 0.5) {
    bad_option(kTokens,
               fmt::format("{} is less than one sample of {} tokens", tokens,
                           with_commas(sequence_length)),
               "give more, or a shorter --sequence-length");
  }
  if (samples > kMostSamples) {
    bad_option(kTokens, fmt::format("{} is too large", tokens), "give fewer tokens");
  }
  return static_cast<int>(std::llround(samples));
}

int read_samples(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789.";
  const bool has_suffix = !text.empty() && power_of(text.back()) > 0.0 &&
                          text.find_first_not_of(kDigits) + 1 == text.size();
  if (has_suffix) {
    const std::string plain = plain_number(text);  // "1k" may be either
    constexpr std::size_t kMostDigits = 5;
    const bool may_be_samples = !plain.empty() && plain.size() <= kMostDigits;
    bad_option(
        kSamples, fmt::format("'{}' is not a whole number", text),
        may_be_samples
            ? fmt::format("it counts samples (sequences): write {} {}; for tokens write {} {}",
                          kSamples, plain, kTokens, text)
            : fmt::format("write {} {}: {} counts samples (sequences)", kTokens, text, kSamples));
  }
  if (text.find_first_of("0123456789") == std::string::npos) {  // "auto", "max"
    bad_option(kSamples, fmt::format("'{}' is not a whole number", text.substr(0, 60)),
               fmt::format("it is your choice, as training depends on it: write {} 512; what sizes "
                           "do to speed is shown by penstock compare ... --vary gbs=256,512",
                           kSamples));
  }
  return parse_int(kSamples, text, 1, kMostSamples);
}

void refuse_unlikely_batch(const Question& question) {
  const SearchRequest& request = question.request;
  const std::int64_t samples = request.global_batch;
  const std::int64_t tokens = samples * std::max(request.sequence_length, 1);
  if (tokens > kMostTokens || samples > kManySamples) {
    const std::string of_tokens =
        request.sequence_length > 0
            ? fmt::format(" of {} tokens, {} million tokens a step; the largest published has 63",
                          with_commas(request.sequence_length), with_commas(tokens / 1'000'000))
            : "";
    bad_option(kSamples, fmt::format("{} samples{}", with_commas(samples), of_tokens),
               fmt::format("if tokens were meant: {} {}; if it is meant as it is: --large-batch",
                           kTokens, samples));
  }
  refuse_long_step(question);
}

}  // namespace penstock
