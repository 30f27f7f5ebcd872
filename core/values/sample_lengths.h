// How long the samples of a data set are: what a plan of batches with samples of different lengths
// needs to know of it.
#pragma once

#include <vector>

namespace penstock {

struct SampleLength {
  int tokens = 0;          // of the whole sample; of a pair, of its first part (encoder, prompt)
  int decoder_tokens = 0;  // of the second part of a pair (decoder, target)
  bool operator==(const SampleLength&) const = default;
};

struct SampleLengths {
  std::vector<SampleLength> samples;  // in the order of the file, never empty
  bool pairs = false;                 // every sample was given as two lengths
  bool operator==(const SampleLengths&) const = default;
};

}  // namespace penstock
