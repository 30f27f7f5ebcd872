// For every type of section, tensor degree, micro-batch size and recompute mode it counts
// (count_operations.h), divides by the rates (efficiency.h) and writes one row of a profile
// (estimate_rows.h).
//
// Invariant: every row names a source that says estimated, with the error that the fit showed on
// profiles it had not seen, so no later step can take it for a measurement.
#include "estimator/estimate_profile.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "core/values/error.h"
#include "estimator/count_recompute.h"
#include "estimator/estimate_assumptions.h"
#include "estimator/estimate_choices.h"
#include "estimator/estimate_error.h"
#include "estimator/estimate_rows.h"

namespace penstock {
namespace {

const std::vector<int> kSamples{1, 2, 4, 8, 16};
constexpr int kLongestDefault = 8192;
constexpr int kLongestSequence = 1 << 22;
constexpr int kMostTensorDegree = 8;
// Megatron-LM's default bucket of overlapped reductions (core/distributed,
// distributed_data_parallel.py) on up to 40 replicas.
constexpr std::int64_t kBucketParameters = 40'000'000;

// Of models with experts: assumed, more than twice the largest errors of the five published runs
// that the two figures of experts were chosen on (docs/accuracy.md), which are too few to count.
constexpr ErrorBand kErrorOfExperts{0.21, 0.25};

class ProfileEstimate {
 public:
  ProfileEstimate(const Architecture& model, const DeviceSheet& device,
                  const Efficiency& efficiency, const EstimateRequest& request)
      : choices_(model, device, efficiency, request),
        error_(error_of(choices_.of_layers(), efficiency, request)) {
    if (model.experts) error_ = widest(error_, kErrorOfExperts);
  }

  Estimate run() {
    check();
    estimate_.error = error_;
    estimate_.basis = basis_of(choices_.of_layers(), model_, request_);
    ModelProfile& profile = estimate_.profile;
    profile.name = model_.name + " (estimated)";  // what every output shows
    add_sources();
    add_training();
    add_degrees();
    add_sections();
    add_assumptions(choices_, degrees_, estimate_.assumptions);
    return std::move(estimate_);
  }

 private:
  void check() {
    rates_ = choices_.rates();
    const int length = request_.sequence_length;
    if (length < 1 || length > kLongestSequence) {
      throw_bad_input(model_.name + ": a sequence of " + std::to_string(length) +
                      " tokens\nhelp: give --sequence-length, from 1 to " +
                      std::to_string(kLongestSequence));
    }
    if (model_.position_rows > 0 && length > model_.positions) {
      throw_bad_input(model_.name + ": a sequence of " + std::to_string(length) +
                      " tokens, but the model has " + std::to_string(model_.positions) +
                      " learned positions\nhelp: shorten --sequence-length");
    }
  }

  void add_sources() {
    auto& sources = estimate_.profile.sources;
    sources.resize(4);
    sources[kTimesEstimated] = {"estimate", Origin::kDatasheet,
                                "estimated from a datasheet: operations and bytes of " +
                                    model_.name + " over the rates of " + choices_.device.name +
                                    " for " + std::string(name_of(request_.arithmetic)) + "; " +
                                    shares_in_words(choices_) +
                                    "; nothing was measured on this device for this model",
                                "", error_};
    sources[kShapesCounted] = {"shapes", Origin::kDerived,
                               "counted from shapes: see docs/estimates.md; nothing is counted for "
                               "fragmentation, workspaces and dropout masks",
                               ""};
    sources[kOperationsCounted] = {"operations", Origin::kAssumed,
                                   "operations: W / (I + W) counted from matrix products", ""};
    const bool half = bytes_of(request_.arithmetic) == 2;
    sources[kTrainingAssumed] = {
        "training", Origin::kAssumed,
        half ? "mixed precision with AdamW: per parameter 2 bytes weight, " +
                   std::to_string(request_.gradient_bytes) + " gradient, " +
                   std::to_string(choices_.optimizer_bytes()) +
                   (request_.optimizer_bytes ? " optimizer" : " master copy and two moments")
             : "float32 with AdamW: per parameter 4 bytes weight, 4 gradient, " +
                   std::to_string(choices_.optimizer_bytes()) +
                   (request_.optimizer_bytes ? " optimizer" : " two moments"),
        ""};
  }

  void add_training() {
    const bool half = bytes_of(request_.arithmetic) == 2;
    TrainingState& state = estimate_.profile.training;
    state.bytes_per_parameter = {half ? 2 : 4};
    state.bytes_per_gradient = {choices_.gradient_bytes()};
    state.optimizer_bytes_per_parameter = {choices_.optimizer_bytes()};
    state.bucket_parameters = kBucketParameters;
    state.source = kTrainingAssumed;
  }

  void add_degrees() {
    const int most = std::min(request_.most_tensor_degree, kMostTensorDegree);
    for (int degree = 1; degree <= most; degree *= 2) {
      if (divides(model_, degree)) degrees_.push_back(degree);
    }
  }

  struct ExpertKey {
    int degree = 1;
    bool whole = false;
  };
  // EP of a section with experts and this T, which they divide evenly.
  [[nodiscard]] std::vector<ExpertKey> expert_keys(std::int64_t experts, int tensor) const {
    std::vector<ExpertKey> keys{{}};
    if (experts == 0) return keys;
    for (const int degree : request_.expert_degrees) {
      if (degree == 1 || model_.experts->count % degree != 0) continue;
      if (tensor == 1 || degree % tensor == 0) keys.push_back({degree, tensor > 1});
      if (tensor > 1 && request_.experts_by_tensor) keys.push_back({degree, false});
    }
    return keys;
  }

  int add_type(const std::string& name, Place place, std::int64_t experts_of_type,
               const std::function<SectionCounts(const CountKey&)>& counts,
               const std::function<RecomputeCounts(const CountKey&, Recompute)>& again) {
    SectionType type;
    type.name = name;
    type.expert_parameters = experts_of_type;
    type.parameter_source = kShapesCounted;
    for (const int degree : degrees_) {
      type.parameters.push_back({degree, counts(key_of(degree, 1, 1, {})).parameters});
      for (const int context : request_.context_degrees) {
        for (const ExpertKey& experts : expert_keys(experts_of_type, degree)) {
          for (const int samples : request_.samples.empty() ? kSamples : request_.samples) {
            const CountKey key = key_of(degree, context, samples, experts);
            const CountAgain again_of =
                again ? CountAgain([&](Recompute mode) { return again(key, mode); }) : CountAgain();
            add_rows(estimate_rows(choices_, rates_, counts(key), key, place, again_of), type);
          }
        }
      }
    }
    auto& types = estimate_.profile.section_types;
    types.push_back(std::move(type));
    return static_cast<int>(types.size()) - 1;
  }

  [[nodiscard]] CountKey key_of(int degree, int context, int samples,
                                const ExpertKey& experts) const {
    CountKey key = choices_.key_of(degree, context, samples);
    key.expert_degree = experts.degree;
    key.whole_experts = experts.whole;
    return key;
  }

  void add_rows(std::vector<Measurement> rows, SectionType& type) {
    const Measurement& plain = rows.front();
    if (plain.tensor_degree == 1 && waits_for_launches(plain)) {
      note_floor(type.name, plain.micro_batch_size);
    }
    std::move(rows.begin(), rows.end(), std::back_inserter(type.measurements));
  }

  void note_floor(const std::string& name, int samples) {
    if (std::find(floors_.begin(), floors_.end(), name) != floors_.end()) return;
    floors_.push_back(name);
    if (name == "embedding") return;
    estimate_.assumptions.push_back(
        "forward of '" + name + "' with " + std::to_string(samples) +
        " sample is bound by what the host took to launch it in the measured profiles; compiled or "
        "captured kernels are faster");
  }

  void add_sections() {
    ModelProfile& profile = estimate_.profile;
    const int embedding =
        add_type("embedding", Place::kEnd, 0,
                 [&](const CountKey& key) { return count_embedding(model_, key); }, {});
    profile.sections.push_back({"embedding", embedding});
    const std::array types{layer_type(LayerKind::kDense), layer_type(LayerKind::kExperts)};
    for (int layer = 0; layer < model_.layers; ++layer) {
      const auto kind = static_cast<std::size_t>(kind_of_layer(model_, layer));
      profile.sections.push_back({"layer." + std::to_string(layer), types[kind]});
    }
    const int head = add_type(
        "head", Place::kEnd, 0,
        [&](const CountKey& key) { return count_end(model_, EndKind::kNormAndHead, key); }, {});
    profile.sections.push_back({"head", head});
    if (model_.tied_head) add_tie();
  }

  int layer_type(LayerKind kind) {
    const auto is = [&](int layer) { return kind_of_layer(model_, layer) == kind; };
    bool any = false;
    for (int layer = 0; layer < model_.layers && !any; ++layer) any = is(layer);
    if (!any) return -1;
    const std::string name = !model_.experts             ? "layer"
                             : kind == LayerKind::kDense ? "dense layer"
                                                         : "expert layer";
    return add_type(
        name, Place::kLayer, expert_parameters(model_, kind),
        [&](const CountKey& key) { return count_layer(model_, kind, key); },
        [&](const CountKey& key, Recompute mode) {
          return count_recompute(model_, kind, key, mode);
        });
  }

  void add_tie() {
    ModelProfile& profile = estimate_.profile;
    TiedWeights tied;
    tied.name = "word embedding";
    tied.sections = {SectionId{0}, SectionId{static_cast<int>(profile.sections.size()) - 1}};
    for (const int degree : degrees_) {
      tied.parameters.push_back({degree, vocabulary_rows(model_, degree) * model_.hidden});
    }
    profile.tied_weights.push_back(std::move(tied));
  }

  const EstimateChoices choices_;
  const Architecture& model_ = choices_.model;
  const EstimateRequest& request_ = choices_.request;
  ErrorBand error_;
  Rates rates_;
  std::vector<int> degrees_;
  std::vector<std::string> floors_;
  Estimate estimate_;
};

}  // namespace

Estimate estimate_profile(const Architecture& model, const DeviceSheet& device,
                          const Efficiency& efficiency, const EstimateRequest& request) {
  return ProfileEstimate(model, device, efficiency, request).run();
}

Arithmetic default_arithmetic(const DeviceSheet& device) {
  for (const Arithmetic arithmetic : {Arithmetic::kBFloat16, Arithmetic::kFloat16}) {
    if (device.peak(arithmetic) != nullptr) return arithmetic;
  }
  return device.peaks.front().arithmetic;
}

int default_sequence_length(const Architecture& model) {
  return std::min(model.positions, kLongestDefault);
}

}  // namespace penstock
