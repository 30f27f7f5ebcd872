// The samples of a step, as they were typed: counted, or as tokens; and whether they can be meant.
#pragma once

#include <string>

#include "cli/options/question.h"

namespace penstock {

// More samples per step than that are refused, whether or not they are meant: a hundred times the
// largest published.
inline constexpr int kMostSamples = 1 << 21;

// The samples of --global-batch. Error{kBadInput} for "4M", which counts tokens.
int read_samples(const std::string& text);

// "4M" tokens per step as samples of `sequence_length` tokens, the nearest number of them. K, M and
// B are powers of 1024: what papers call 4M is 1,024 samples of 4,096 tokens.
int samples_in(const std::string& tokens, int sequence_length);

// Error{kBadInput} for a step of so many tokens, or one that would take so long even if nothing
// waited, that something else was meant; with the remedies.
void refuse_unlikely_batch(const Question& question);

}  // namespace penstock
