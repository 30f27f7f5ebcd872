// For every type of section, tensor degree, micro-batch size and recompute mode it counts
// (count_operations.h), divides by the rates (efficiency.h) and writes one row of a profile, split
// into named terms for `explain`. Recompute modes differ in what is kept and computed again;
// collectives of tensor parallelism are left to the cost model, which prices them on the cluster's
// links.
//
// Invariant: every row names a source that says estimated, with the error that the fit showed on
// profiles it had not seen, so no later step can take it for a measurement.
#include "estimator/estimate_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/values/error.h"
#include "core/values/term_names.h"
#include "estimator/divided_sequences.h"

namespace penstock {
namespace {

const std::vector<int> kSamples{1, 2, 4, 8, 16};
constexpr int kLongestDefault = 8192;
constexpr int kLongestSequence = 1 << 22;
constexpr int kMostTensorDegree = 8;
constexpr int kTile = 128;
constexpr std::array kRecomputes{std::pair{Recompute::kSelective, "selective"},
                                 std::pair{Recompute::kFull, "full"}};
// Megatron-LM's default bucket of overlapped reductions (core/distributed,
// distributed_data_parallel.py) on up to 40 replicas.
constexpr std::int64_t kBucketParameters = 40'000'000;

// Of models with experts: assumed, more than twice the largest errors of the five published runs
// that the two figures of experts were chosen on (docs/accuracy.md), which are too few to count.
constexpr ErrorBand kErrorOfExperts{0.21, 0.25};

// Indices into the profile's sources.
enum SourceIndex { kTimes, kShapes, kOperations, kTraining };

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::floor(100.0 * share + 0.5))) + " %";
}

Duration rounded(double seconds) {
  const double longest = static_cast<double>(kLongestDuration.count()) * 1e-9;
  return round_up_to_ns(std::min(seconds, longest));
}

// The parts of a time by the names that `explain` and `compare` use.
constexpr std::array kTerms{std::pair{"matrix products", &WorkTimes::products},
                            std::pair{"expert products", &WorkTimes::experts},
                            std::pair{"attention", &WorkTimes::attention},
                            std::pair{"memory passes", &WorkTimes::memory},
                            std::pair{"casts to 8 bits", &WorkTimes::casts},
                            std::pair{kGradientSums, &WorkTimes::sums},
                            std::pair{"gradient sums beyond products", &WorkTimes::beyond},
                            std::pair{"copies of collectives", &WorkTimes::copies},
                            std::pair{"kernels that are not fused", &WorkTimes::unfused},
                            std::pair{"routing", &WorkTimes::routing},
                            std::pair{"launches", &WorkTimes::launches}};

double WorkTimes::*member_of(const std::string& name) {
  for (const auto& [known, member] : kTerms) {
    if (name == known) return member;
  }
  return &WorkTimes::launches;
}

// Those that are not zero.
std::vector<TimeTerm> terms_of(const WorkTimes& forward, const WorkTimes& backward) {
  std::vector<TimeTerm> terms;
  for (const auto& [name, member] : kTerms) {
    if (forward.*member <= 0.0 && backward.*member <= 0.0) continue;
    terms.push_back({name, rounded(forward.*member), rounded(backward.*member), Duration{}});
  }
  return terms;
}

// MPT's trainer, llm-foundry, ran its attention in Triton until 2024, and its models date from
// before.
AttentionKernel attention_for(const Architecture& model, const DeviceSheet& device,
                              Arithmetic arithmetic) {
  const AttentionKernel usual = default_attention(device, arithmetic);
  return model.family == "MPT" && usual != AttentionKernel::kEager ? AttentionKernel::kFlash1
                                                                   : usual;
}

// On devices of their generation; "any" has those of others.
bool counts_other_trainers(const EfficiencyCurve& curve) {
  return curve.other_trainers && curve.generation != "any";
}

class ProfileEstimate {
 public:
  ProfileEstimate(const Architecture& model, const DeviceSheet& device,
                  const Efficiency& efficiency, const EstimateRequest& request)
      : model_(model),
        device_(device),
        request_(request),
        wide_(request.arithmetic == Arithmetic::kFloat8 ? Arithmetic::kBFloat16
                                                        : request.arithmetic),
        curve_(curve_for(efficiency, device, wide_)),
        float8_(request.arithmetic == Arithmetic::kFloat8
                    ? &curve_for(efficiency, device, Arithmetic::kFloat8)
                    : nullptr),
        kernel_(request.attention.value_or(attention_for(model, device, wide_))),
        error_(error_of(float8_ != nullptr ? *float8_ : curve_, efficiency, request)) {
    if (model.experts) error_ = widest(error_, kErrorOfExperts);
  }

  Estimate run() {
    check();
    estimate_.error = error_;
    estimate_.basis = basis();
    ModelProfile& profile = estimate_.profile;
    profile.name = model_.name + " (estimated)";  // what every output shows
    add_sources();
    add_training();
    add_degrees();
    add_sections();
    add_assumptions();
    return std::move(estimate_);
  }

 private:
  void check() {
    const PeakRate* peak = device_.peak(request_.arithmetic);
    if (peak == nullptr || device_.peak(wide_) == nullptr) {
      std::string known;
      for (const PeakRate& each : device_.peaks) {
        known += (known.empty() ? "" : ", ") + std::string(name_of(each.arithmetic));
      }
      throw_bad_input("the datasheet of " + device_.name + " has no rate for " +
                      std::string(name_of(request_.arithmetic)) + "\nhelp: --precision " + known);
    }
    rates_ = rates_of(device_, device_.peak(wide_)->flops_per_s, curve_, kernel_,
                      request_.sequence_length, score_width(model_));
    if (float8_ != nullptr) use_float8(*float8_, peak->flops_per_s, rates_);
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

  // Those of generations that no run had are as wide as somebody thought right, and so are other
  // trainers' where no run of one was counted.
  [[nodiscard]] ErrorBasis basis() const {
    const EfficiencyCurve& its = float8_ != nullptr ? *float8_ : curve_;
    if (model_.experts || its.error_assumed) return ErrorBasis::kAssumed;
    const bool others_counted = counts_other_trainers(its) || its.eager;
    if (asks_for_other_trainer(request_) && !others_counted) return ErrorBasis::kAssumed;
    if (its.eager) return ErrorBasis::kPasses;
    return its.generation == "any" ? ErrorBasis::kAssumed : ErrorBasis::kRuns;
  }

  void add_sources() {
    auto& sources = estimate_.profile.sources;
    sources.resize(4);
    sources[kTimes] = {"estimate", Origin::kDatasheet,
                       "estimated from a datasheet: operations and bytes of " + model_.name +
                           " over the rates of " + device_.name + " for " +
                           std::string(name_of(request_.arithmetic)) + "; " + shares() +
                           "; nothing was measured on this device for this model",
                       "", error_};
    sources[kShapes] = {"shapes", Origin::kDerived,
                        "counted from shapes: see docs/estimates.md; nothing is counted for "
                        "fragmentation, workspaces and dropout masks",
                        ""};
    sources[kOperations] = {"operations", Origin::kAssumed,
                            "operations: W / (I + W) counted from matrix products", ""};
    const bool half = bytes_of(request_.arithmetic) == 2;
    sources[kTraining] = {
        "training", Origin::kAssumed,
        half ? "mixed precision with AdamW: per parameter 2 bytes weight, " +
                   std::to_string(request_.gradient_bytes) + " gradient, " +
                   std::to_string(optimizer_bytes()) +
                   (request_.optimizer_bytes ? " optimizer" : " master copy and two moments")
             : "float32 with AdamW: per parameter 4 bytes weight, 4 gradient, " +
                   std::to_string(optimizer_bytes()) +
                   (request_.optimizer_bytes ? " optimizer" : " two moments"),
        ""};
  }

  [[nodiscard]] std::string shares() const {
    return percent(curve_.terms.products) + " of the peak rate and " +
           percent(curve_.terms.memory) + " of the memory bandwidth, fitted on measured " +
           (curve_.eager ? "profiles" : "runs") +
           (curve_.generation == "any"
                ? " of other devices"
                : " of devices of its generation (" + curve_.generation + ")");
  }

  void add_training() {
    const bool half = bytes_of(request_.arithmetic) == 2;
    TrainingState& state = estimate_.profile.training;
    state.bytes_per_parameter = {half ? 2 : 4};
    state.bytes_per_gradient = {gradient_bytes()};
    state.optimizer_bytes_per_parameter = {optimizer_bytes()};
    state.bucket_parameters = kBucketParameters;
    state.source = kTraining;
  }

  void add_degrees() {
    const int most = std::min(request_.most_tensor_degree, kMostTensorDegree);
    for (int degree = 1; degree <= most; degree *= 2) {
      if (divides(model_, degree)) degrees_.push_back(degree);
    }
  }

  // What a section computes again and keeps; none: it has nothing to compute again.
  using Again = std::function<RecomputeCounts(Recompute)>;

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
    type.parameter_source = kShapes;
    for (const int degree : degrees_) {
      type.parameters.push_back({degree, counts(key_of(degree, 1, 1, {})).parameters});
      for (const int context : request_.context_degrees) {
        for (const ExpertKey& experts : expert_keys(experts_of_type, degree)) {
          for (const int samples : request_.samples.empty() ? kSamples : request_.samples) {
            const CountKey key = key_of(degree, context, samples, experts);
            const Again again_of =
                again ? Again([&](Recompute mode) { return again(key, mode); }) : Again();
            add_measurements(counts(key), key, name, place, again_of, type);
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
    return {degree,
            samples,
            request_.sequence_length,
            bytes_of(request_.arithmetic),
            kind_of(kernel_),
            request_.sequence_parallel && degree > 1,
            context,
            curve_.eager,
            experts.degree,
            experts.whole,
            request_.expert_imbalance,
            float8_ != nullptr,
            loss_in_place(),
            curve_.eager ? 0 : gradient_bytes(),
            request_.torch_collectives,
            request_.eager_kernels && !curve_.eager,
            loss() == LossKind::kEager,
            sums_apart()};
  }

  [[nodiscard]] int gradient_bytes() const {
    return bytes_of(request_.arithmetic) == 2 ? request_.gradient_bytes : 4;
  }

  // In 8 bits sums show whole in the published steps (docs/accuracy.md, "8 bits"); nobody published
  // times of products there.
  [[nodiscard]] bool sums_apart() const { return request_.sums_apart || float8_ != nullptr; }

  [[nodiscard]] int optimizer_bytes() const {
    return request_.optimizer_bytes.value_or(bytes_of(request_.arithmetic) == 2 ? 12 : 8);
  }

  // llm-foundry's default for MPT (loss_fn: fused_crossentropy).
  [[nodiscard]] bool loss_in_place() const { return loss() == LossKind::kInPlace; }

  [[nodiscard]] LossKind loss() const {
    if (curve_.eager) return LossKind::kApart;  // its passes are counted so
    if (request_.loss) return *request_.loss;
    if (model_.family == "MPT") return LossKind::kInPlace;
    return request_.eager_kernels ? LossKind::kEager : LossKind::kApart;
  }

  // Composer's default (fsdp_config: backward_prefetch: BACKWARD_POST), under which llm-foundry
  // trains MPT.
  [[nodiscard]] bool gathers_late() const {
    return !request_.gathers_ahead.value_or(model_.family != "MPT");
  }

  // Without the collectives, which are priced from the cluster's links.
  [[nodiscard]] WorkTimes times(Work work, Direction direction, Place place) const {
    work.reduced = 0.0;
    return times_of(work, direction, place, rates_);
  }

  void add_measurements(const SectionCounts& counts, const CountKey& key, const std::string& name,
                        Place place, const Again& again_of, SectionType& type) {
    Measurement m;
    m.device = request_.device.empty() ? device_.name : request_.device;
    m.tensor_degree = key.tensor_degree;
    m.context_degree = key.context_degree;
    m.micro_batch_size = key.samples;
    m.sequence_length = request_.sequence_length;
    m.expert_degree = key.expert_degree;
    m.expert_tensor_degree = key.whole_experts ? 1 : 0;
    m.experts = told(counts.experts);
    const WorkTimes forward = times(counts.forward, Direction::kForward, place);
    const WorkTimes backward = times(counts.backward, Direction::kBackward, place);
    m.forward.median = rounded(forward.sum());
    m.fused_backward = Timing{rounded(backward.sum()), Duration{}};
    m.terms = terms_of(forward, backward);
    if (gathers_late()) m.terms.push_back({kGathersWaitedFor, {}, {}, {}});
    if (counts.ring != Bytes{} && passes_gradients_on(key)) {
      m.terms.push_back({kGradientsPassedOn, {}, {}, {}});
    }
    m.weight_gradient_share = counts.weight_share;
    m.tensor_traffic = counts.traffic;
    for (TensorTraffic& each : m.tensor_traffic) each.recompute = 0;
    if (counts.ring != Bytes{}) {
      m.ring = RingTraffic{counts.ring, beside_ring(forward.attention, key),
                           beside_ring(backward.attention, key)};
      m.ring->exchanged = counts.exchanged;
    }
    m.stash = counts.stash;
    m.weight_stash = counts.weight_stash;
    m.working_peak = counts.working_peak;
    m.boundary = counts.boundary;
    m.time_source = kTimes;
    m.split_source = kOperations;
    m.memory_source = kShapes;
    if (key.tensor_degree == 1 && forward.launches > 0.0) note_floor(name, key.samples);
    type.measurements.push_back(m);
    for (const auto& [mode, called] : kRecomputes) {
      Measurement again = m;
      again.recompute = called;
      if (again_of) recompute(again_of(mode), again);
      type.measurements.push_back(again);
    }
  }

  // Attention that runs while one part of keys and values is on its way.
  [[nodiscard]] static Duration beside_ring(double attention, const CountKey& key) {
    return waits_for_ring(key) ? Duration{} : rounded(attention / key.context_degree);
  }

  void recompute(const RecomputeCounts& counts, Measurement& m) const {
    const WorkTimes again = counts.again == Work{}
                                ? WorkTimes{}
                                : times(counts.again, Direction::kForward, Place::kLayer);
    m.recompute_time.median = rounded(again.sum());
    for (TimeTerm& term : m.terms) {
      if (!is_habit(term.name)) term.recompute = rounded(again.*member_of(term.name));
    }
    if (m.ring && again.attention > 0.0) {
      const bool waits = m.ring->beside_forward == Duration{};
      m.ring->beside_recompute = waits ? Duration{} : rounded(again.attention / m.context_degree);
    }
    m.tensor_traffic = counts.traffic;
    m.experts = told(counts.experts);
    m.stash = counts.stash;
    m.weight_stash = counts.weight_stash;
    m.working_peak = counts.working_peak;
  }

  // With how tokens are sent.
  [[nodiscard]] std::optional<ExpertTraffic> told(std::optional<ExpertTraffic> traffic) const {
    if (traffic) traffic->once = request_.dispatches_once;
    return traffic;
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

  void add_assumptions() {
    auto& list = estimate_.assumptions;
    list.push_back(attention_text());
    if (degrees_.size() > 1) {
      const bool divides = request_.sequence_parallel;
      list.emplace_back(divides ? "sequence parallelism where TP > 1: norms and residuals are "
                                  "divided over the TP ranks"
                                : "no sequence parallelism: every TP rank has norms and residuals "
                                  "whole");
      if (request_.torch_collectives) {
        list.emplace_back(std::string("PyTorch's tensor parallelism: every collective is waited "
                                      "for") +
                          (divides ? ", and copied" : ""));
      }
    }
    const std::vector<int>& divided = request_.context_degrees;
    if (request_.torch_collectives &&
        std::any_of(divided.begin(), divided.end(), [](int degree) { return degree > 1; })) {
      list.emplace_back(
          request_.eager_kernels
              ? "PyTorch's context parallelism: gradients of keys and values in 32 bits"
              : "PyTorch's context parallelism: gradients of keys and values in 32 "
                "bits, and compiled code waits for all that is sent");
    }
    if (loss_in_place()) {
      list.emplace_back("the loss is one kernel that leaves its gradients in the logits' place" +
                        std::string(request_.loss ? "" : " (llm-foundry's default)"));
    }
    if (gathers_late()) {
      list.emplace_back(
          "sharded weights: a backward does not gather those of the next section while it computes "
          "one (Composer's BACKWARD_POST)");
    }
    if (request_.eager_kernels && !curve_.eager) {
      list.emplace_back(
          "kernels that are not fused: one per operation of norms, rotary positions "
          "and gates");
    }
    if (loss() == LossKind::kEager) {
      list.emplace_back(
          request_.torch_collectives && degrees_.size() > 1
              ? "the loss is one kernel per operation: 12 bytes a logit at once, 16 where TP > 1"
              : "the loss is one kernel per operation: 12 bytes a logit at once");
    }
    list.push_back(selective_text());
    list.emplace_back(
        "recompute 'full' runs the forward of a layer again; with TP = 1 without its last matrix "
        "product, as PyTorch and XLA do");
    list.emplace_back(
        "gradients are reduced and parameters gathered in buckets, overlapped with compute");
    if (request_.gradient_bytes == 4) list.emplace_back("gradients of 4 bytes");
    add_odd_tiles();
    if (model_.experts) {
      add_experts();
    }
    if (float8_ != nullptr) {
      list.emplace_back(
          "layers multiply 8 bits, casts included; embedding, head, attention and what lies "
          "between "
          "stay in bfloat16; weights of 2 bytes: 8 bits, and their transposes or a copy of 16 "
          "bits");
      if (float8_->generation == "any") {
        list.push_back("no run in 8 bits was published on a device of the generation " +
                       device_.generation + ": as on others, over its own peak");
      }
    }
    if (curve_.generation == "any") {
      list.push_back("no profile was measured on a device of the generation " + device_.generation +
                     " with this arithmetic");
    }
    const PeakRate& peak = *device_.peak(request_.arithmetic);
    for (const int index : {peak.source, device_.memory_source, device_.memory_bandwidth_source,
                            device_.node.source}) {
      const Source& source = device_.sources[static_cast<std::size_t>(index)];
      if (source.origin != Origin::kAssumed) continue;
      const std::string text = device_.name + ": " + source.text;
      if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
    }
  }

  void add_experts() {
    auto& list = estimate_.assumptions;
    const double more = request_.expert_imbalance;
    list.push_back(more > 1.0 ? "the busiest rank of experts gets " +
                                    std::to_string(static_cast<int>(std::lround(100.0 * more))) +
                                    " % of the mean's tokens (EP > 1)"
                              : "tokens spread evenly over experts");
    list.emplace_back(
        request_.dispatches_once
            ? "EP > 1: a token goes once to each node, and once to each rank there, that has one "
              "of "
              "its experts (DeepEP, HybridEP); --expert-dispatch copies: once for each expert"
            : "EP > 1: a token goes once for each of its experts (all-to-all)");
  }

  [[nodiscard]] std::string attention_text() const {
    if (kernel_ == AttentionKernel::kEager) return "attention eager (scores kept in memory)";
    const AttentionKey key{request_.sequence_length, score_width(model_), false};
    return "attention fused, " + std::string(name_of(kernel_)) +
           " (scores are not stored): " + percent(attention_share(kernel_, device_, key)) +
           " of the peak rate forward";
  }

  [[nodiscard]] std::string selective_text() const {
    return kernel_ == AttentionKernel::kEager
               ? "recompute 'selective': the scores of attention are computed again"
               : "recompute 'selective': the outputs of attention and of every second matrix "
                 "product "
                 "are kept, as in torchtitan (Megatron's selective mode saves nothing with fused "
                 "attention)";
  }

  // Tiles of 128 that reach beyond a rank's part compute for nothing.
  void add_odd_tiles() {
    std::string odd;
    for (const int degree : degrees_) {
      const auto ends_in_tile = [&](int width) { return (width / degree) % kTile == 0; };
      const bool even = ends_in_tile(model_.hidden) && ends_in_tile(model_.feed_forward);
      if (!even) odd += (odd.empty() ? "" : ", ") + std::to_string(degree);
    }
    if (odd.empty()) return;
    estimate_.assumptions.push_back(
        "hidden " + std::to_string(model_.hidden) + " or feed-forward " +
        std::to_string(model_.feed_forward) + " over T = " + odd +
        " is not a multiple of 128: matrix products have tiles that are partly empty");
  }

  const Architecture& model_;
  const DeviceSheet& device_;
  const EstimateRequest& request_;
  Arithmetic wide_;  // of everything but the products of layers
  const EfficiencyCurve& curve_;
  const EfficiencyCurve* float8_;  // those; null: as everything else
  AttentionKernel kernel_;
  ErrorBand error_;
  Rates rates_;
  std::vector<int> degrees_;
  std::vector<std::string> floors_;
  Estimate estimate_;
};

}  // namespace

bool asks_for_other_trainer(const EstimateRequest& request) {
  return request.sums_apart || request.torch_collectives;
}

ErrorBand widest(const ErrorBand& one, const ErrorBand& other) {
  return {std::max(one.below, other.below), std::max(one.above, other.above)};
}

ErrorBand error_of(const EfficiencyCurve& its, const Efficiency& efficiency,
                   const EstimateRequest& request) {
  if (!asks_for_other_trainer(request)) return its.error;
  if (counts_other_trainers(its)) return *its.other_trainers;
  const std::string width = its.width == "float8" ? "half" : its.width;  // most of a step
  ErrorBand error = its.error;
  for (const EfficiencyCurve& curve : efficiency.curves) {
    const bool holds = curve.generation == "any" && curve.width == width;
    if (holds && curve.other_trainers) error = widest(error, *curve.other_trainers);
  }
  return error;
}

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
