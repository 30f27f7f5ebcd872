// The same way as estimate_profile(): counts over rates, one row for every type of section, pair of
// lengths, tensor degree, micro-batch size and recompute mode. Sections of the encoder have rows by
// its length alone; those from the decoder's embedding on by both, since keys and values of cross
// attention, and the boundary, follow the encoder's.
#include "estimator/estimate_encoder_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "estimator/count_encoder_decoder.h"
#include "estimator/estimate_error.h"

namespace penstock {
namespace {

constexpr int kMostTensorDegree = 8;
constexpr std::int64_t kBucketParameters = 40'000'000;  // as in estimate_profile.cc
constexpr std::array kModes{std::pair{Recompute::kNone, "none"},
                            std::pair{Recompute::kSelective, "selective"},
                            std::pair{Recompute::kFull, "full"}};
// Below: assumed, as of models with experts. Above: the most that one of the six published steps of
// a T5 took longer than predicted (docs/accuracy.md), which are too few to count one in twenty.
constexpr ErrorBand kErrorOfPairs{0.21, 0.55};

enum SourceIndex { kTimes, kShapes, kOperations, kTraining };

Duration rounded(double seconds) {
  const double longest = static_cast<double>(kLongestDuration.count()) * 1e-9;
  return round_up_to_ns(std::min(seconds, longest));
}

class PairEstimate {
 public:
  PairEstimate(const EncoderDecoder& model, const DeviceSheet& device, const Efficiency& efficiency,
               const EstimateRequest& request, const PairGrid& grid)
      : model_(model),
        device_(device),
        request_(request),
        grid_(grid),
        curve_(curve_for(efficiency, device, request.arithmetic)),
        error_(widest(error_of(curve_, efficiency, request), kErrorOfPairs)),
        // Fused kernels take no table of relative positions.
        kernel_(request.attention.value_or(AttentionKernel::kEager)) {}

  Estimate run() {
    check();
    ModelProfile& profile = estimate_.profile;
    profile.name = model_.decoder.name + " (estimated)";
    estimate_.error = error_;
    estimate_.basis = ErrorBasis::kAssumed;  // the runs had no encoder
    add_sources();
    add_training();
    for (int degree = 1; degree <= std::min(request_.most_tensor_degree, kMostTensorDegree);
         degree *= 2) {
      if (divides(model_.encoder, degree)) degrees_.push_back(degree);
    }
    add_encoder();
    add_decoder();
    add_tie();
    add_assumptions();
    return std::move(estimate_);
  }

 private:
  using Counts = std::function<SectionCounts(const PairKey&)>;
  using Again = std::function<RecomputeCounts(const PairKey&, Recompute)>;
  struct Lengths {
    int encoder = 1, decoder = 0;  // 0: the section does not know it
  };

  void check() {
    const PeakRate* peak = device_.peak(request_.arithmetic);
    if (peak != nullptr) {
      peak_ = peak->flops_per_s;
      return;
    }
    throw_bad_input("the datasheet of " + device_.name + " has no rate for " +
                    std::string(name_of(request_.arithmetic)) +
                    "\nhelp: choose another --precision");
  }

  void add_sources() {
    estimate_.profile.sources = {
        {"estimate", Origin::kDatasheet,
         "estimated from a datasheet: operations and bytes of " + model_.decoder.name +
             " over the rates of " + device_.name + " for " +
             std::string(name_of(request_.arithmetic)) +
             ", fitted on models without an encoder; nothing was measured on this device for this "
             "model",
         "", error_},
        {"shapes", Origin::kDerived,
         "counted from shapes: see docs/estimates.md; the encoder's output is counted in every "
         "layer of the decoder that it is held for, though a stage holds it once",
         ""},
        {"operations", Origin::kAssumed, "operations: W / (I + W) counted from matrix products",
         ""},
        {"training", Origin::kAssumed,
         request_.optimizer_bytes ? "AdamW, of which " + std::to_string(*request_.optimizer_bytes) +
                                        " bytes a parameter are kept"
                                  : "AdamW with a master copy and two moments",
         ""}};
  }

  void add_training() {
    const bool half = bytes_of(request_.arithmetic) == 2;
    TrainingState& state = estimate_.profile.training;
    state.bytes_per_parameter = {half ? 2 : 4};
    state.bytes_per_gradient = {gradient_bytes()};
    state.optimizer_bytes_per_parameter = {request_.optimizer_bytes.value_or(half ? 12 : 8)};
    state.bucket_parameters = kBucketParameters;
    state.source = kTraining;
  }

  [[nodiscard]] int gradient_bytes() const {
    return bytes_of(request_.arithmetic) == 2 ? request_.gradient_bytes : 4;
  }

  [[nodiscard]] PairKey key_of(int degree, int samples, const Lengths& lengths) const {
    CountKey key;
    key.tensor_degree = degree;
    key.samples = samples;
    key.element_bytes = bytes_of(request_.arithmetic);
    key.attention = kind_of(kernel_);
    key.sequence_parallel = request_.sequence_parallel && degree > 1;
    key.eager = curve_.eager;
    if (!key.eager) {
      key.gradient_bytes = gradient_bytes();
      key.sums_apart = request_.sums_apart;
      key.loss_in_place = request_.loss == LossKind::kInPlace;
      key.eager_loss = request_.loss == LossKind::kEager;
    }
    PairKey pair{key, key};
    pair.encoder.sequence_length = lengths.encoder;
    pair.decoder.sequence_length = std::max(1, lengths.decoder);
    return pair;
  }

  [[nodiscard]] WorkTimes times(Work work, Direction direction, Place place,
                                const Rates& rates) const {
    work.reduced = 0.0;  // priced from the cluster's links
    return times_of(work, direction, place, rates);
  }

  void add_rows(const Counts& counts, const Again& again, Place place, const PairKey& key,
                const Lengths& lengths, SectionType& type) {
    const SectionCounts counted = counts(key);
    const int length = lengths.decoder > 0 ? lengths.decoder : lengths.encoder;
    const Rates rates =
        rates_of(device_, peak_, curve_, kernel_, length, model_.encoder.head_width);
    Measurement m;
    m.device = request_.device.empty() ? device_.name : request_.device;
    m.tensor_degree = key.encoder.tensor_degree;
    m.micro_batch_size = key.encoder.samples;
    m.sequence_length = lengths.encoder;
    m.decoder_length = lengths.decoder;
    m.forward.median = rounded(times(counted.forward, Direction::kForward, place, rates).sum());
    m.fused_backward = Timing{
        rounded(times(counted.backward, Direction::kBackward, place, rates).sum()), Duration{}};
    m.weight_gradient_share = counted.weight_share;
    m.boundary = counted.boundary;
    m.time_source = kTimes;
    m.split_source = kOperations;
    m.memory_source = kShapes;
    for (const auto& [mode, called] : kModes) {
      Measurement row = m;
      row.recompute = called;
      row.tensor_traffic = counted.traffic;
      for (TensorTraffic& each : row.tensor_traffic) each.recompute = 0;
      row.stash = counted.stash;
      row.weight_stash = counted.weight_stash;
      row.working_peak = counted.working_peak;
      if (again && mode != Recompute::kNone) use_again(again(key, mode), rates, row);
      type.measurements.push_back(std::move(row));
    }
  }

  void use_again(const RecomputeCounts& counts, const Rates& rates, Measurement& row) const {
    if (counts.again != Work{}) {
      row.recompute_time.median =
          rounded(times(counts.again, Direction::kForward, Place::kLayer, rates).sum());
    }
    row.tensor_traffic = counts.traffic;
    row.stash = counts.stash;
    row.weight_stash = counts.weight_stash;
    row.working_peak = counts.working_peak;
  }

  int add_type(const std::string& name, Place place, bool knows_decoder, const Counts& counts,
               const Again& again) {
    SectionType type;
    type.name = name;
    type.parameter_source = kShapes;
    const std::vector<int> none{0};
    for (const int degree : degrees_) {
      type.parameters.push_back({degree, counts(key_of(degree, 1, {1, 1})).parameters});
      for (const int decoder : knows_decoder ? grid_.decoder_lengths : none) {
        for (const int encoder : grid_.lengths) {
          for (std::int64_t samples = 1;
               samples == 1 || samples * (encoder + decoder) <= grid_.most_tokens; samples *= 2) {
            const Lengths lengths{encoder, decoder};
            add_rows(counts, again, place, key_of(degree, static_cast<int>(samples), lengths),
                     lengths, type);
          }
        }
      }
    }
    auto& types = estimate_.profile.section_types;
    types.push_back(std::move(type));
    return static_cast<int>(types.size()) - 1;
  }

  void add_section(const std::string& name, int type) {
    estimate_.profile.sections.push_back({name, type});
  }

  void add_encoder() {
    add_section(
        "encoder embedding",
        add_type("encoder embedding", Place::kEnd, false,
                 [&](const PairKey& key) { return count_encoder_embedding(model_, key); }, {}));
    const int layer = add_type(
        "encoder layer", Place::kLayer, false,
        [&](const PairKey& key) {
          return count_layer(model_.encoder, LayerKind::kDense, key.encoder);
        },
        [&](const PairKey& key, Recompute mode) {
          return count_recompute(model_.encoder, LayerKind::kDense, key.encoder, mode);
        });
    for (int i = 0; i < model_.encoder.layers; ++i) {
      add_section("encoder." + std::to_string(i), layer);
    }
    add_section("encoder norm",
                add_type("encoder norm", Place::kEnd, false,
                         [&](const PairKey& key) { return count_encoder_end(model_, key); }, {}));
  }

  void add_decoder() {
    decoder_embedding_ = static_cast<int>(estimate_.profile.sections.size());
    add_section(
        "decoder embedding",
        add_type("decoder embedding", Place::kEnd, true,
                 [&](const PairKey& key) { return count_decoder_embedding(model_, key); }, {}));
    const int layer = add_type(
        "decoder layer", Place::kLayer, true,
        [&](const PairKey& key) { return count_decoder_layer(model_, key); },
        [&](const PairKey& key, Recompute mode) {
          return count_decoder_recompute(model_, key, mode);
        });
    for (int i = 0; i < model_.decoder.layers; ++i) {
      add_section("decoder." + std::to_string(i), layer);
    }
    add_section("head", add_type("head", Place::kEnd, true,
                                 [&](const PairKey& key) {
                                   return count_end(model_.decoder, EndKind::kNormAndHead,
                                                    key.decoder);
                                 },
                                 {}));
  }

  void add_tie() {
    ModelProfile& profile = estimate_.profile;
    TiedWeights tied;
    tied.name = "word embedding";
    tied.sections = {SectionId{0}, SectionId{decoder_embedding_}};
    if (model_.decoder.tied_head) {
      tied.sections.push_back(SectionId{static_cast<int>(profile.sections.size()) - 1});
    }
    for (const int degree : degrees_) {
      tied.parameters.push_back(
          {degree, vocabulary_rows(model_.decoder, degree) * model_.decoder.hidden});
    }
    profile.tied_weights.push_back(std::move(tied));
  }

  void add_assumptions() {
    auto& list = estimate_.assumptions;
    list.emplace_back(kernel_ == AttentionKernel::kEager
                          ? "attention eager, with relative positions (scores kept in memory)"
                          : "attention fused, relative positions included");
    list.emplace_back(
        "the encoder's output is counted in every layer of the decoder, though a stage holds it "
        "once");
    if (request_.loss == LossKind::kInPlace) {
      list.emplace_back("the loss is one kernel that leaves its gradients in the logits' place");
    } else if (request_.loss == LossKind::kEager) {
      list.emplace_back("the loss is one kernel per operation: 12 bytes a logit at once");
    }
    list.emplace_back("efficiencies fitted on models without an encoder");
  }

  const EncoderDecoder& model_;
  const DeviceSheet& device_;
  const EstimateRequest& request_;
  const PairGrid& grid_;
  const EfficiencyCurve& curve_;
  ErrorBand error_;
  AttentionKernel kernel_;
  double peak_ = 1.0;
  std::vector<int> degrees_;
  int decoder_embedding_ = 0;
  Estimate estimate_;
};

}  // namespace

Estimate estimate_encoder_decoder(const EncoderDecoder& model, const DeviceSheet& device,
                                  const Efficiency& efficiency, const EstimateRequest& request,
                                  const PairGrid& grid) {
  return PairEstimate(model, device, efficiency, request, grid).run();
}

}  // namespace penstock
