// What is run to be measured: sections of a model, each a stage of its own, on one rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/model_description.h"
#include "training/model_outline.h"
#include "training/rank_setup.h"

namespace penstock {

struct ChainToMeasure {
  ModelDescription model;
  // Which sections, along the model; the first takes the tokens, the last ends in the loss.
  std::vector<int> sections;
  std::vector<std::string> types;  // of each of them
  std::vector<TieSetup> ties;      // among them
  std::int64_t parameters = 0;     // of all of them together
  int micro_batch_size = 1, sequence_length = 0;
  int decoder_length = 0;  // of t5
  bool recompute = false;
  bool splits = true;  // false: only the fused backward is measured

  [[nodiscard]] int stages() const { return static_cast<int>(types.size()); }
};

// Sections of one type cost the same, so the first `most_of_a_type` of each are enough. Several,
// because one alone would find its weights in the caches, where those of its neighbours are in a
// run.
ChainToMeasure choose_sections(const ModelDescription& model, const ModelOutline& outline,
                               int most_of_a_type);

// More than the caches of a processor or a GPU hold (an assumption: 32 MiB for up to eight cores of
// an EPYC, 50 and 60 MB of an H100 and H200).
inline constexpr Bytes kBeyondCaches{64 << 20};

// At least `of_a_type` of each type, and as many more as it takes until weights and gradients of
// the chain are `bytes`, or all sections are chosen. The many small sections of a small model would
// else find each other in the caches, as those of the whole model do not.
ChainToMeasure choose_beyond(Bytes bytes, const ModelDescription& model,
                             const ModelOutline& outline, int of_a_type);

// What weights, gradients and optimizer state of the chain take on each rank that runs it.
Bytes state_bytes(const ChainToMeasure& chain);

// Of the two micro-batches of a step the first runs the fused backward, the second input and weight
// gradient apart.
inline constexpr int kFusedMicroBatch = 0, kSplitMicroBatch = 1;

// What a RankWork that runs the chain is made from.
RankSetup setup_of(const ChainToMeasure& chain);

}  // namespace penstock
