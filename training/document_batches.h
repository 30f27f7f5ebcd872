// The documents of a run, step by step: all of an epoch in an order that is shuffled anew for every
// epoch, taken one after the other until a batch has its tokens.
//
// Where the run has arrived is one number, how many documents it has taken, as for samples of one
// length (ordered_samples.h). So a run that resumes takes none twice and leaves none out.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/values/sample_lengths.h"
#include "training/document_set.h"
#include "training/token_source.h"

namespace penstock {

class DocumentBatches : public TokenSource {
 public:
  struct Start {
    std::int64_t step = 0, taken = 0;  // step `step` takes the documents from `taken` on
    std::int64_t tokens = 0;           // of a batch at most, as they are fed
    std::uint64_t seed = 1;
  };
  // `documents` must not be empty.
  DocumentBatches(std::shared_ptr<const DocumentSet> documents, const Start& start);

  [[nodiscard]] const DocumentSet& documents() const { return *documents_; }
  // Before a step that is not before Start::step.
  [[nodiscard]] std::int64_t taken_before(std::int64_t step) const;
  // The documents of a step, by number in the set. A batch ends before the document that would be
  // too much; one that is too much by itself is a batch of its own. It may end in the next epoch.
  [[nodiscard]] std::vector<std::int64_t> of_step(std::int64_t step) const;
  [[nodiscard]] std::vector<SampleLength> lengths_of_step(std::int64_t step) const;

  // Not padded.
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override;
  [[nodiscard]] std::int64_t targets_of_step(const ModelDescription& model, std::uint64_t seed,
                                             std::int64_t step, int global_batch,
                                             int sequence_length) const override;

 private:
  [[nodiscard]] std::int64_t document(std::int64_t taken) const;

  std::shared_ptr<const DocumentSet> documents_;
  Start start_;
  mutable std::mutex mutex_;                 // ranks that are threads, and planners
  mutable std::vector<std::int64_t> taken_;  // before step start_.step + i, as far as was asked
};

}  // namespace penstock
