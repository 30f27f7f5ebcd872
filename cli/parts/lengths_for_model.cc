// A decoder-only model takes a pair of lengths as one sample of both. What is longer than what was
// measured, or than --max-length, is cut, as data loaders do; how many were is said.
#include "cli/parts/lengths_for_model.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "cli/options/options.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "costmodel/calibrated_profile.h"
#include "costmodel/price_stages.h"
#include "estimator/estimate_encoder_decoder.h"
#include "estimator/estimate_lengths.h"
#include "estimator/shipped_data.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostSamples = 65'536;  // of a batch

bool knows_decoder(const ModelProfile& profile) {
  return std::any_of(
      profile.section_types.begin(), profile.section_types.end(), [](const SectionType& type) {
        return !type.measurements.empty() && type.measurements.front().decoder_length > 0;
      });
}

// The longest that the profile can price, of both axes.
SampleLength longest_measured(const ModelProfile& profile, const std::string& device) {
  SampleLength longest{default_sequence_length(profile, device), 0};
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& m : type.measurements) {
      if (m.device == device) {
        longest.decoder_tokens = std::max(longest.decoder_tokens, m.decoder_length);
      }
    }
  }
  return longest;
}

void cut_to(Samples& samples, const SampleLength& most) {
  for (SampleLength& sample : samples.batch) {
    const SampleLength before = sample;
    sample.tokens = std::min(sample.tokens, most.tokens);
    sample.decoder_tokens = std::min(sample.decoder_tokens, most.decoder_tokens);
    if (sample != before) ++samples.cut;
  }
}

// Of each axis.
SampleLength longest_of(const LengthBatch& samples) {
  SampleLength longest;
  for (const SampleLength& sample : samples) {
    longest.tokens = std::max(longest.tokens, sample.tokens);
    longest.decoder_tokens = std::max(longest.decoder_tokens, sample.decoder_tokens);
  }
  return longest;
}

// An estimate has one length; this has all that samples may have.
void estimate_all_lengths(Question& question, const Samples& samples, std::int64_t tokens) {
  EstimatedModel& estimated = *question.estimated;
  const MicroBatchShape longest =
      padded_shape(1, fed_of(longest_of(samples.batch), samples.rounding), samples.rounding);
  estimated.request.sequence_length = longest.tokens;
  if (estimated.encoder_decoder) {
    estimated.estimate = estimate_encoder_decoder(
        *estimated.encoder_decoder, estimated.device, shipped_efficiency(), estimated.request,
        {grid_of_lengths(longest.tokens), grid_of_lengths(longest.decoder_tokens), tokens});
  } else {
    estimated.estimate =
        estimate_lengths(estimated.model, estimated.device, shipped_efficiency(), estimated.request,
                         grid_of_lengths(longest.tokens), tokens);
  }
  question.profile.value = estimated.estimate.profile;
  const auto& calibration = question.cluster.value.calibration;
  if (!calibration) return;
  question.profile.value = calibrated_profile(question.profile.value,
                                              for_model(*calibration, question.profile.value.name));
}

std::string device_of(const Question& question) {
  if (question.request.pins.device) return *question.request.pins.device;
  const auto& types = question.cluster.value.device_types;
  return types.size() == 1 ? types.front().name : "";
}

// What is fed of a sample so long is at most a length that is a multiple of the rounding's.
SampleLength longest_fed_within(const SampleLength& priced, const LengthRounding& rounding) {
  const auto whole = [&](int length) { return length / rounding.multiple * rounding.multiple; };
  return {whole(priced.tokens) + rounding.left_out,
          std::max(0, whole(priced.decoder_tokens) - rounding.decoder_extra)};
}

// The longest samples that can be priced.
SampleLength longest_priced(const Samples& samples, const Question& question) {
  if (question.estimated) {
    constexpr int kNoLimit = 1 << 24;
    const Architecture& model = question.estimated->model;
    const bool has_table = model.position_rows > 0 && !samples.pairs;
    const int limit = has_table ? model.positions : kNoLimit;
    return longest_fed_within({limit, limit}, samples.rounding);
  }
  const SampleLength measured = longest_measured(question.profile.value, device_of(question));
  if (measured.tokens == 0) {
    throw_bad_input(question.profile.file.path +
                    ": it has no sequence lengths, so that samples of different lengths cost the "
                    "same\nhelp: give a profile of a model of sequences, or a config.json");
  }
  return longest_fed_within(measured, samples.rounding);
}

}  // namespace

Samples samples_for(const SampleLengths& read, const ModelProfile& profile) {
  const bool pairs = knows_decoder(profile);
  Samples samples;
  samples.pairs = pairs;
  if (pairs && !read.pairs) {
    bad_option("--lengths",
               "one length for each sample, but the model has an encoder and a decoder",
               "give two: \"encoder,decoder\" in every line");
  }
  samples.rounding.left_out = pairs ? 0 : 1;
  samples.batch = read.samples;
  if (pairs) return samples;
  for (SampleLength& sample : samples.batch) {
    sample = {sample.tokens + sample.decoder_tokens, 0};
  }
  return samples;
}

void refuse_short(const Samples& samples, const std::string& path) {
  if (samples.pairs) return;
  for (std::size_t i = 0; i < samples.batch.size(); ++i) {
    if (samples.batch[i].tokens > samples.rounding.left_out) continue;
    throw_bad_input(fmt::format(
        "{}: sample {} has {}, and nothing follows it that could be predicted\nhelp: leave such "
        "samples out",
        path, i + 1, count_of(samples.batch[i].tokens, "token")));
  }
}

void fit_lengths(Samples& samples, Question& question, const std::optional<std::string>& max_length,
                 std::int64_t tokens) {
  SampleLength limit = longest_priced(samples, question);
  if (max_length) {
    const int most = parse_int("--max-length", *max_length, 2, 1 << 24);
    limit = {std::min(limit.tokens, most), std::min(limit.decoder_tokens, most)};
  }
  cut_to(samples, limit);
  if (question.estimated) estimate_all_lengths(question, samples, tokens);
}

void refuse_large_batches(const Samples& samples, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const SampleLength& sample : samples.batch) sum += real_tokens_of(sample, samples.rounding);
  const auto mean = static_cast<double>(sum) / static_cast<double>(samples.batch.size());
  const auto count = static_cast<std::int64_t>(static_cast<double>(tokens) / mean);
  if (count <= kMostSamples) return;
  bad_option("--tokens-per-batch",
             fmt::format("{} tokens are about {} samples of {} tokens in the mean, and batches of "
                         "at most {} are planned",
                         with_commas(tokens), with_commas(count), fixed(mean, 0),
                         with_commas(kMostSamples)),
             fmt::format("give at most {}: it counts the tokens of one step",
                         static_cast<std::int64_t>(mean * kMostSamples)));
}

std::string lengths_text(const Samples& samples, const std::string& path) {
  std::vector<int> lengths;
  std::int64_t sum = 0;
  for (const SampleLength& sample : samples.batch) {
    lengths.push_back(sample.tokens + sample.decoder_tokens);
    sum += lengths.back();
  }
  std::sort(lengths.begin(), lengths.end());
  std::string text =
      fmt::format("{}: {} of {} to {} tokens, mean {}, median {}",
                  std::filesystem::path(path).filename().string(),
                  count_of(static_cast<std::int64_t>(lengths.size()), "sample"), lengths.front(),
                  with_commas(lengths.back()),
                  fixed(static_cast<double>(sum) / static_cast<double>(lengths.size()), 0),
                  with_commas(lengths[lengths.size() / 2]));
  if (samples.pairs) text += " (encoder and decoder together)";
  if (samples.cut > 0) text += fmt::format("; {} longer, cut", with_commas(samples.cut));
  return text;
}

}  // namespace penstock
