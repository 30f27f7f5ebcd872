// Small models and texts that tests train, and results in a form that compares.
#pragma once

#include <string>
#include <vector>

#include "tests/training/torch/reference_training.h"
#include "training/byte_data.h"
#include "training/rank_setup.h"
#include "training/section_state.h"

namespace penstock::testing {

// 8 sections of width 16, 2 heads; of t5 an encoder of three blocks, a decoder of two.
ModelDescription tiny_model(ModelFamily family = ModelFamily::kGpt,
                            Precision precision = Precision::kFloat64);
// Something to learn from: words in no order.
std::string tiny_text();
inline constexpr int kTinyLength = 12;  // tokens per sample
ByteData tiny_data();

// The whole model as `stages` stages of about as many sections on the only rank.
RankSetup one_rank(const ModelDescription& model, int stages, std::vector<int> micro_batches);

// Largest difference between the weights that ranks hold and those of the reference, relative to
// the largest weight of each tensor (at least 1). 1e300 when a weight is missing.
class WeightComparison {
 public:
  explicit WeightComparison(const ReferenceRun& expected);
  void add(const ModelDescription& model, const std::vector<SectionState>& states);
  [[nodiscard]] double worst() const;

 private:
  const ReferenceRun& expected_;
  std::vector<std::vector<std::vector<bool>>> seen_;  // by section, parameter, element
  double worst_ = 0.0;
};
// Largest relative difference.
double distance(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace penstock::testing
