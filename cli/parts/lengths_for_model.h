// The lengths of samples, as `penstock dynamic` takes them from a file for the model in question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/files/read_sample_lengths.h"
#include "core/values/profile.h"
#include "search/question.h"
#include "studies/dynamic_study.h"

namespace penstock {

// The samples as the model takes them, and what is to be said about them.
struct Samples {
  LengthBatch batch;
  LengthRounding rounding;
  bool pairs = false;
  std::int64_t cut = 0;
};

// Error{kBadInput} where the model takes pairs and the file has single lengths.
Samples samples_for(const SampleLengths& read, const ModelProfile& profile);

// Error{kBadInput} for a sample of one token, which has nothing to predict.
void refuse_short(const Samples& samples, const std::string& path);

// Cuts the samples to what can be priced, and makes an estimate that reaches as far.
void fit_lengths(Samples& samples, Question& question, const std::optional<std::string>& max_length,
                 std::int64_t tokens);

// Error{kBadInput}: planning takes longer than in proportion to a batch's samples.
void refuse_large_batches(const Samples& samples, std::int64_t tokens);

// "lengths.csv: 1,000 samples of 5 to 2,048 tokens, mean 310, median 250"
std::string lengths_text(const Samples& samples, const std::string& path);

}  // namespace penstock
