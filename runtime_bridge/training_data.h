// The files that a run trains on and is judged by, opened once by each process, with what
// checkpoints say of them.
//
// A text is read whole; its bytes are the tokens. Files of token ids are mapped: integers one after
// the other, of a type that has to be named, or .npy, whose header says it. Other files are refused
// and not taken for text: their bytes would train, to no use. A model that takes images gets them
// and their labels, mapped, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/values/model_description.h"
#include "runtime_bridge/checkpoint_manifest.h"
#include "runtime_bridge/train_options.h"
#include "training/document_batches.h"
#include "training/document_set.h"
#include "training/ordered_samples.h"
#include "training/sample_set.h"
#include "training/token_source.h"

namespace penstock {

struct TrainingData {
  // What ranks train on. Of tokenised data and images begin() sets it.
  std::shared_ptr<const TokenSource> tokens;
  CheckpointData file;
  // Tokenised data or images, and how many samples of them are trained on: the first. None of a
  // text.
  std::shared_ptr<const SampleSet> files;
  std::int64_t samples = 0;
  // What evaluations use, in order: samples [validation_first, validation_first +
  // validation_samples).
  std::shared_ptr<const SampleSet> validation;
  std::int64_t validation_first = 0, validation_samples = 0;
  std::shared_ptr<const TokenSource> evaluation;  // the same as a source; begin() sets it
  // Samples that differ in length, and how they are taken; begin() sets the latter.
  std::shared_ptr<const DocumentSet> document_set;
  std::int64_t tokens_per_batch = 0;
  std::shared_ptr<const DocumentBatches> documents;

  // Tokenised data, images and documents go on from there; texts draw by step anyway. `seed`: of
  // the order of documents.
  void begin(const EpochData::Start& start, std::uint64_t seed = 1);
};

// As `model` takes them. Error{kMissingResource} when there is no such file, Error{kBadInput}
// when it is too short, of another kind than was said, or of no kind that was said.
TrainingData read_training_data(const DataOptions& options, const ModelDescription& model,
                                int sequence_length);

// What is wrong with token ids, as far as a look at a part of large files shows it; every id is
// looked at again when it is used.
void check_token_ids(const TrainingData& data);

}  // namespace penstock
