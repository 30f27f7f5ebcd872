// The samples of files in the order in which a run takes them.
#pragma once

#include <cstdint>
#include <memory>

#include "training/sample_set.h"
#include "training/token_source.h"

namespace penstock {

// What evaluations use: the data's samples from `first` on, in order. Batch b of an evaluation is
// step -1 - b.
class EvaluationData : public TokenSource {
 public:
  EvaluationData(std::shared_ptr<const SampleSet> data, std::int64_t first, int global_batch);

  static std::int64_t step_of_batch(std::int64_t batch) { return -1 - batch; }
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override;

 private:
  std::shared_ptr<const SampleSet> data_;
  std::int64_t first_;
  int global_batch_;
};

// Samples [first, end) of the data in an order that is shuffled anew in every epoch: every sample
// once, then every sample again. Where the run has arrived is one number, how many samples it has
// taken, whatever the layout of the ranks and whatever its batches were.
class EpochData : public TokenSource {
 public:
  // Step `step` takes the samples from `taken` on; every step takes `global_batch` of them.
  struct Start {
    std::int64_t step = 0, taken = 0;
    int global_batch = 1;
  };
  EpochData(std::shared_ptr<const SampleSet> data, std::int64_t first, std::int64_t end,
            const Start& start);

  [[nodiscard]] std::int64_t samples() const { return end_ - first_; }
  // Which one of the data's samples it is.
  [[nodiscard]] std::int64_t index(const SampleId& id) const;
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override;

 private:
  std::shared_ptr<const SampleSet> data_;
  std::int64_t first_, end_;
  Start start_;
};

}  // namespace penstock
