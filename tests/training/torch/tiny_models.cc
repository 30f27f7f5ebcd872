#include "tests/training/torch/tiny_models.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <ATen/core/Tensor.h>

#include "training/mixed_bits.h"
#include "training/model_outline.h"

namespace penstock::testing {
namespace {

double value_of(const Buffer& buffer, std::size_t i) {
  switch (buffer.type) {
    case ElementType::kFloat64:
      return reinterpret_cast<const double*>(buffer.data)[i];
    case ElementType::kBFloat16:
      return static_cast<float>(reinterpret_cast<const c10::BFloat16*>(buffer.data)[i]);
    case ElementType::kFloat16:
      return static_cast<float>(reinterpret_cast<const c10::Half*>(buffer.data)[i]);
    default:
      return reinterpret_cast<const float*>(buffer.data)[i];
  }
}

}  // namespace

ModelDescription tiny_model(ModelFamily family, Precision precision) {
  ModelDescription model;
  model.family = family;
  model.layers = family == ModelFamily::kT5 ? 3 : 6;
  model.decoder_layers = family == ModelFamily::kT5 ? 2 : 0;
  model.hidden = 16;
  model.heads = family == ModelFamily::kMlp ? 0 : 2;
  model.feed_forward = 24;
  model.vocabulary = 256;
  model.positions = 16;
  model.precision = precision;
  return model;
}

std::string tiny_text() {
  const std::vector<std::string> words{"gate ", "pipe ", "water ", "turbine ", "flow ", "dam "};
  std::string text;
  for (std::uint64_t i = 0; i < 400; ++i) text += words[mixed_bits(i) % words.size()];
  return text;
}

ByteData tiny_data() { return {tiny_text(), kTinyLength, "tiny_text"}; }

RankSetup one_rank(const ModelDescription& model, int stages, std::vector<int> micro_batches) {
  RankSetup setup;
  setup.model = model;
  const ModelOutline outline = built_in_outline(model);
  const int sections = static_cast<int>(outline.sections.size());
  for (int s = 0; s < stages; ++s) {
    StageSetup stage;
    stage.stage = s;
    stage.first_section = sections * s / stages;
    stage.end_section = sections * (s + 1) / stages;
    stage.takes_input = s == 0;
    stage.ends_in_loss = s + 1 == stages;
    setup.stages.push_back(stage);
  }
  if (model.tied_embedding && stages > 1) setup.ties = {{"embedding", {0, stages - 1}}};
  setup.global_batch = 0;
  for (const int samples : micro_batches) {
    setup.micro_batches.push_back({setup.global_batch, samples});
    setup.global_batch += samples;
  }
  setup.sequence_length = kTinyLength;
  setup.options.learning_rate = 1e-2;
  setup.options.seed = 3;
  return setup;
}

WeightComparison::WeightComparison(const ReferenceRun& expected) : expected_(expected) {
  for (const auto& section : expected.weights) seen_.emplace_back(section.size());
}

void WeightComparison::add(const ModelDescription& model, const std::vector<SectionState>& states) {
  const ModelOutline outline = built_in_outline(model);
  for (const SectionState& state : states) {
    const auto s = static_cast<std::size_t>(state.section);
    for (const StatePiece& piece : state.parameters) {
      const auto& parameters = outline.sections[s].parameters;
      const auto p = static_cast<std::size_t>(
          std::find_if(parameters.begin(), parameters.end(),
                       [&](const ParameterOutline& o) { return o.name == piece.name; }) -
          parameters.begin());
      const std::vector<double>& expected = expected_.weights.at(s).at(p);
      double largest = 1.0;
      for (const double value : expected) largest = std::max(largest, std::abs(value));
      if (piece.end > expected.size()) worst_ = 1e300;
      for (std::size_t i = piece.begin; i < std::min(expected.size(), piece.end); ++i) {
        const double difference = std::abs(value_of(piece.buffer, i - piece.begin) - expected[i]);
        if (!(difference / largest <= worst_)) worst_ = difference / largest;
        seen_[s][p].resize(expected.size(), false);
        seen_[s][p][i] = true;
      }
    }
  }
}

double WeightComparison::worst() const {
  for (std::size_t s = 0; s < seen_.size(); ++s) {
    for (std::size_t p = 0; p < seen_[s].size(); ++p) {
      const std::vector<bool>& elements = seen_[s][p];
      const bool has_all = elements.size() == expected_.weights[s][p].size() &&
                           std::find(elements.begin(), elements.end(), false) == elements.end();
      if (!has_all) return 1e300;
    }
  }
  return worst_;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return 1e300;
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(1e-300, std::abs(b[i]));
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

}  // namespace penstock::testing
