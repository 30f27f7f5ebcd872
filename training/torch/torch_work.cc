// A slot holds one micro-batch at one stage: what came in, what goes out, and the pass between
// forward and backward. Actions of the executor map to calls of that pass one to one. The norm is
// summed over all ranks before any weight changes; a gradient that overflowed makes all ranks skip
// the same update. warm_up() runs every shape once with a norm and an update of nothing, because
// the first use of a kernel is slow, and leaves weights and buffers as they were.
#include "training/torch/torch_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/learning_rate.h"
#include "training/mixed_bits.h"
#include "training/ordered_samples.h"
#include "training/torch/element_types.h"
#include "training/torch/model_inputs.h"
#include "training/torch/parcel.h"
#include "training/torch/sample_batch.h"
#include "training/torch/section_store.h"
#include "training/torch/stage_pass.h"

namespace penstock {
namespace {

// torch::nn::utils::clip_grad_norm_ has it too.
constexpr double kClipEpsilon = 1e-6;

// One micro-batch at one stage.
struct Slot {
  Parcel activation_in, activation_out, gradient_in, gradient_out;
  std::unique_ptr<StagePass> pass;
};

}  // namespace

class TorchWork::Impl {
 public:
  Impl(const RankSetup& setup, TorchState& state, const TokenSource& data)
      : setup_(setup), state_(state), store_(state.store()), data_(data) {}
  Impl(const RankSetup& setup, std::unique_ptr<TorchState> state, const TokenSource& data)
      : Impl(setup, *state, data) {
    own_state_ = std::move(state);
    state_.lay_out(setup);
  }

  TorchState& all_state() { return state_; }
  void keep_last_stage_only() { keeps_last_only_ = true; }

  void begin_step(std::int64_t step) {
    for (auto& [number, stage] : store_.stages()) stage.zero_gradients();
    source_ = &data_;
    begin(step);
    device().reset_peak_memory();
    held_before_ = device().held_memory();
    peak_bytes_ = 0;
    knows_norm_ = skips_ = false;
    steps_optimizer_ = true;
  }

  void exchange_through(SectionExchange* exchange) {
    for (auto& [number, stage] : store_.stages()) stage.shards().exchange_through(exchange);
  }
  // What the optimizer takes for itself later is no part of what compute needs.
  void see_peak() { peak_bytes_ = (device().peak_memory() - held_before_).count; }
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_bytes_; }

  void evaluate_on(const TokenSource& data) { evaluation_data_ = &data; }
  void begin_evaluation(std::int64_t batch) {
    source_ = evaluation_data_;
    begin(EvaluationData::step_of_batch(batch));
  }

  void warm_up() {
    if (!device().is_gpu()) return;
    begin_step(0);
    // What forward changes without a gradient is as before when this ends.
    std::vector<std::pair<at::Tensor, at::Tensor>> buffers;
    for (auto& [number, stage] : store_.stages()) {
      for (const auto& section : stage.sections()) {
        for (const at::Tensor& buffer : section->buffers()) {
          buffers.emplace_back(buffer, buffer.detach().clone());
        }
      }
    }
    for (std::size_t i = 0; i < setup_.micro_batches.size(); ++i) {
      const auto m = static_cast<int>(i);
      const MicroBatchShape shape = setup_.shape_of(m);
      for (const StageSetup& stage : setup_.stages) {
        const SectionStore::Warm size{shape.samples, shape.tokens, shape.decoder_tokens,
                                      stage.first_section, stage.end_section};
        if (!store_.warm.insert(size).second) continue;
        pass_once(stage, m, {ActionKind::kFusedBackward});
        if (setup_.by_section != SectionSharding::kNone) continue;  // never divide a backward
        pass_once(stage, m, {ActionKind::kInputGradient, ActionKind::kWeightGradient});
      }
    }
    step_nothing();
    (void)norm_share();
    slots_.clear();
    for (auto& [number, stage] : store_.stages()) stage.zero_gradients();
    for (auto& [buffer, before] : buffers) buffer.detach().copy_(before);
    device().synchronize();
  }

  void compute(ActionKind kind, int stage, int micro_batch) {
    Slot& slot = slots_[{stage, micro_batch}];
    switch (kind) {
      case ActionKind::kForward:
        return forward(stage, micro_batch, slot);
      case ActionKind::kRecompute:
        return slot.pass->recompute();
      case ActionKind::kFusedBackward:
        slot.gradient_out = {slot.pass->fused_backward(gradient_into(stage, slot)), {}};
        slot.pass.reset();
        return;
      case ActionKind::kInputGradient:
        slot.gradient_out = {slot.pass->input_backward(
                                 gradient_into(stage, slot),
                                 [&](std::size_t section, const std::string& why) {
                                   not_split_.insert(state(stage).name_of(section) + ": " + why);
                                 }),
                             {}};
        return;
      case ActionKind::kWeightGradient:
        slot.pass->weight_backward();
        slot.pass.reset();
        return;
      default:
        throw Error(ErrorKind::kInternal, "TorchWork does not compute " +
                                              std::string(name_of(kind)) + " of a micro-batch");
    }
  }

  Slot& slot(int stage, int micro_batch) { return slots_.at({stage, micro_batch}); }
  StageState& state(int stage) { return store_.stage(stage); }
  Device& device() { return store_.device(); }
  [[nodiscard]] const std::set<std::string>& not_split() const { return not_split_; }

  Buffer activation_to_receive(int stage, int micro_batch) {
    Slot& slot = slots_[{stage, micro_batch}];
    slot.activation_in = empty_parcel(all_of(boundary_before(stage, micro_batch)), device_of());
    return buffer_of(slot.activation_in.message, device());
  }
  Buffer gradient_to_receive(int stage, int micro_batch) {
    Slot& slot = slots_[{stage, micro_batch}];
    slot.gradient_in =
        empty_parcel(those_with_gradient(boundary_behind(stage, micro_batch)), device_of());
    return buffer_of(slot.gradient_in.message, device());
  }
  Buffer activation_to_send(int stage, int micro_batch) {
    Parcel& parcel = slot(stage, micro_batch).activation_out;
    pack(all_of(boundary_behind(stage, micro_batch)), device_of(), parcel);
    return buffer_of(parcel.message, device());
  }
  Buffer gradient_to_send(int stage, int micro_batch) {
    Parcel& parcel = slot(stage, micro_batch).gradient_out;
    pack(those_with_gradient(boundary_before(stage, micro_batch)), device_of(), parcel);
    return buffer_of(parcel.message, device());
  }
  void hand_on_activation(int stage, int micro_batch) {
    slots_[{stage + 1, micro_batch}].activation_in =
        std::exchange(slot(stage, micro_batch).activation_out, {});
  }
  void hand_on_gradient(int stage, int micro_batch) {
    slots_[{stage - 1, micro_batch}].gradient_in =
        std::exchange(slot(stage, micro_batch).gradient_out, {});
  }

  NormShare norm_share() {
    if (evaluates()) return {0.0, loss_.item<double>(), 0.0};
    at::Tensor sum = at::zeros({}, options(at::kDouble));
    for (auto& [number, stage] : store_.stages()) sum.add_(stage.squared_norm());
    return norm_share_of(sum.item<double>());
  }

  NormShare norm_share_of(double squared_norm) {
    NormShare share;
    share.squared_norm = squared_norm;
    share.loss = loss_.item<double>();
    if (!std::isfinite(share.squared_norm)) {
      share.squared_norm = 0.0;
      share.not_finite = 1.0;
    }
    share.squared_norm /= loss_scale() * loss_scale();
    return share;
  }

  void set_global_norm(const NormShare& all) {
    const bool overflow = all.not_finite > 0.0;
    if (overflow && !scales_loss()) {
      throw_bad_input("step " + std::to_string(step_) +
                      ": a gradient is infinite or not a number; lower the learning rate (" +
                      std::to_string(setup_.options.learning_rate) +
                      ") or clip gradients, and start from the last checkpoint");
    }
    gradient_factor_ = 1.0 / loss_scale();
    if (setup_.options.clip_norm > 0.0) {
      const double norm = std::sqrt(all.squared_norm);
      gradient_factor_ *= std::min(1.0, setup_.options.clip_norm / (norm + kClipEpsilon));
    }
    if (scales_loss()) store_.scaler.update(overflow);
    skips_ = overflow;
    knows_norm_ = true;
  }

  void optimize(int stage) {
    if (const std::optional<OptimizerStep> step = next_update()) state(stage).optimize(*step);
  }

  std::optional<OptimizerStep> next_update() {
    if (!knows_norm_) {
      if (setup_.options.clip_norm > 0.0 || scales_loss()) {
        throw_bad_input(
            "the plan's optimizer does not wait for the global gradient norm, which clipping and "
            "fp16 need; plan with the optimizer after the norm");
      }
      gradient_factor_ = 1.0;
    }
    if (skips_) return std::nullopt;
    if (std::exchange(steps_optimizer_, false)) ++store_.optimizer_steps;
    OptimizerStep step;
    step.kind = setup_.model.optimizer;
    step.options = setup_.options;
    step.options.learning_rate = learning_rate_at(setup_.options, step_);
    step.number = store_.optimizer_steps;
    step.gradient_factor = gradient_factor_;
    return step;
  }

 private:
  void pass_once(const StageSetup& stage, int m, const std::vector<ActionKind>& backward) {
    const auto fill = [this](const Buffer& buffer) {
      const auto bytes = static_cast<std::int64_t>(buffer.bytes());
      at::from_blob(buffer.data, {bytes}, options(at::kByte)).zero_();
    };
    if (!stage.takes_input) fill(activation_to_receive(stage.stage, m));
    compute(ActionKind::kForward, stage.stage, m);
    if (!stage.ends_in_loss) fill(gradient_to_receive(stage.stage, m));
    for (const ActionKind kind : backward) compute(kind, stage.stage, m);
    slots_.clear();
  }

  // The optimizer's arithmetic, on elements that belong to nothing.
  void step_nothing() {
    constexpr std::int64_t kElements = 1024;
    const auto zeros = [&] {
      return at::zeros({kElements}, options(master_type(setup_.model.precision)));
    };
    OptimizerStep step;
    step.kind = setup_.model.optimizer;
    step.options = setup_.options;
    for (const bool decays : {false, true}) {
      step.decays = decays;
      step_flat(step, zeros(), zeros(), zeros(), zeros());
    }
  }

  [[nodiscard]] at::TensorOptions options(at::ScalarType type) const {
    return at::TensorOptions(at::Device(store_.device().name())).dtype(type);
  }
  [[nodiscard]] bool scales_loss() const { return setup_.model.precision == Precision::kFloat16; }
  [[nodiscard]] double loss_scale() const { return scales_loss() ? store_.scaler.scale() : 1.0; }
  [[nodiscard]] const MicroBatchSetup& micro_batch(int m) const {
    return setup_.micro_batches[static_cast<std::size_t>(m)];
  }

  [[nodiscard]] bool evaluates() const { return source_ != &data_; }
  void begin(std::int64_t step) {
    step_ = step;
    slots_.clear();
    for (auto& [number, stage] : store_.stages()) stage.set_training(!evaluates());
    const std::int64_t tokens = source_->targets_of_step(
        setup_.model, setup_.options.seed, step, setup_.global_batch, setup_.sequence_length);
    loss_weight_ = 1.0 / static_cast<double>(std::max<std::int64_t>(tokens, 1));
    loss_ = at::zeros({}, options(at::kDouble));
  }

  void forward(int stage, int m, Slot& slot) {
    const StageSetup& setup = state(stage).setup();
    StageInput input;
    input.handed = std::exchange(slot.activation_in, {}).tensors;
    if (!setup.takes_input) {
      for (const BoundaryTensor& tensor : boundary_before(stage, m)) {
        input.has_gradient.push_back(tensor.has_gradient);
      }
    }
    if (input.has_gradient.size() != input.handed.size()) {
      throw Error(ErrorKind::kInternal, "stage " + std::to_string(stage) + " was handed " +
                                            std::to_string(input.handed.size()) +
                                            " tensors instead of " +
                                            std::to_string(input.has_gradient.size()));
    }
    LossTarget loss;
    if (reads_inputs(setup) || setup.ends_in_loss) {
      auto [tokens, targets] = samples_of(m);
      if (reads_inputs(setup)) {
        input.inputs = model_inputs(store_.model().inputs(), tokens, targets);
      }
      if (setup.ends_in_loss) loss = {std::move(targets), loss_weight_};
    }
    const std::uint64_t draw =
        mixed_bits({setup_.options.seed, static_cast<std::uint64_t>(step_),
                    static_cast<std::uint64_t>(micro_batch(m).first_sample)});
    slot.pass = std::make_unique<StagePass>(state(stage), std::move(input), std::move(loss), draw);
    Tensors outputs = evaluates() ? slot.pass->evaluate() : slot.pass->forward(keeps_graph(setup));
    if (evaluates()) slot.pass.reset();
    if (setup.ends_in_loss) {
      loss_.add_(outputs[0]);
    } else {
      slot.activation_out = {std::move(outputs), {}};
    }
  }

  [[nodiscard]] bool keeps_graph(const StageSetup& stage) const {
    return keeps_last_only_ ? stage.ends_in_loss : !setup_.recompute;
  }

  [[nodiscard]] bool reads_inputs(const StageSetup& stage) const {
    for (int s = stage.first_section; s < stage.end_section; ++s) {
      if (store_.model().reads_inputs(s)) return true;
    }
    return false;
  }

  // What backward starts with. A schedule that recomputes may leave out the R that would directly
  // follow its F; then it is done here.
  Tensors gradient_into(int stage, Slot& slot) {
    if (!slot.pass->has_graph()) slot.pass->recompute();
    if (!state(stage).setup().ends_in_loss) return std::exchange(slot.gradient_in, {}).tensors;
    // Of the loss, which is computed in single precision at least.
    return {at::full({}, loss_scale(), options(master_type(setup_.model.precision)))};
  }

  // What the model takes of a micro-batch, and its targets.
  std::pair<at::Tensor, at::Tensor> samples_of(int m) {
    std::vector<TokenSample> samples;
    for (int i = 0; i < micro_batch(m).samples; ++i) {
      const SampleId id{setup_.options.seed, step_,
                        setup_.sample_of(micro_batch(m).first_sample + i)};
      samples.push_back(source_->sample(setup_.model, id));
    }
    return batch_of(samples, setup_.model, setup_.shape_of(m), device_of());
  }

  [[nodiscard]] at::Device device_of() const { return at::Device(store_.device().name()); }
  // What the stage before hands on, and what this one does.
  [[nodiscard]] Boundary boundary_before(int stage, int m) {
    return boundary(state(stage).setup().first_section - 1, m);
  }
  [[nodiscard]] Boundary boundary_behind(int stage, int m) {
    return boundary(state(stage).setup().end_section - 1, m);
  }
  [[nodiscard]] Boundary boundary(int section, int m) const {
    const MicroBatchShape shape = setup_.shape_of(m);
    return store_.model().boundary(section, {.samples = shape.samples,
                                             .tokens = shape.tokens,
                                             .type = compute_type(setup_.model.precision),
                                             .decoder_tokens = shape.decoder_tokens});
  }

  const RankSetup setup_;
  std::unique_ptr<TorchState> own_state_;
  TorchState& state_;
  SectionStore& store_;
  const TokenSource& data_;
  const TokenSource* evaluation_data_ = nullptr;
  const TokenSource* source_ = &data_;         // of the step or evaluation that is under way
  std::map<std::pair<int, int>, Slot> slots_;  // by stage and micro-batch
  std::set<std::string> not_split_;
  bool keeps_last_only_ = false;

  std::int64_t step_ = 0;
  Bytes held_before_;  // when it began
  std::int64_t peak_bytes_ = 0;
  double loss_weight_ = 1.0;
  at::Tensor loss_;
  double gradient_factor_ = 1.0;
  bool knows_norm_ = false, skips_ = false;
  bool steps_optimizer_ = true;  // no stage has been stepped in this step yet
};

TorchWork::TorchWork(const RankSetup& setup, TorchState& state, const TokenSource& data)
    : impl_(std::make_unique<Impl>(setup, state, data)) {}
TorchWork::TorchWork(const RankSetup& setup, Device& device, const TokenSource& data,
                     std::size_t bucket_bytes)
    : impl_(std::make_unique<Impl>(
          setup, std::make_unique<TorchState>(setup.model, setup.options, device, bucket_bytes),
          data)) {}
TorchWork::~TorchWork() = default;

TorchState& TorchWork::state() { return impl_->all_state(); }

std::vector<std::string> TorchWork::not_split() const {
  return {impl_->not_split().begin(), impl_->not_split().end()};
}

void TorchWork::exchange_through(SectionExchange* exchange) { impl_->exchange_through(exchange); }
void TorchWork::evaluate_on(const TokenSource& data) { impl_->evaluate_on(data); }
void TorchWork::begin_evaluation(std::int64_t batch) { impl_->begin_evaluation(batch); }
void TorchWork::warm_up() { impl_->warm_up(); }
void TorchWork::begin_step(std::int64_t step) { impl_->begin_step(step); }
std::optional<std::int64_t> TorchWork::peak_bytes() { return impl_->peak_bytes(); }
void TorchWork::compute(ActionKind kind, int stage, int micro_batch) {
  impl_->compute(kind, stage, micro_batch);
  impl_->see_peak();
}
void TorchWork::synchronize() { impl_->device().synchronize(); }

Buffer TorchWork::activation_to_receive(int stage, int micro_batch) {
  return impl_->activation_to_receive(stage, micro_batch);
}
Buffer TorchWork::gradient_to_receive(int stage, int micro_batch) {
  return impl_->gradient_to_receive(stage, micro_batch);
}
Buffer TorchWork::activation_to_send(int stage, int micro_batch) {
  return impl_->activation_to_send(stage, micro_batch);
}
Buffer TorchWork::gradient_to_send(int stage, int micro_batch) {
  return impl_->gradient_to_send(stage, micro_batch);
}
void TorchWork::sent_activation(int stage, int micro_batch) {
  impl_->slot(stage, micro_batch).activation_out = {};
}
void TorchWork::sent_gradient(int stage, int micro_batch) {
  impl_->slot(stage, micro_batch).gradient_out = {};
}
void TorchWork::hand_on_activation(int stage, int micro_batch) {
  impl_->hand_on_activation(stage, micro_batch);
}
void TorchWork::hand_on_gradient(int stage, int micro_batch) {
  impl_->hand_on_gradient(stage, micro_batch);
}

std::vector<Buffer> TorchWork::gradients(int stage) {
  return impl_->state(stage).gradient_buckets();
}
Buffer TorchWork::tied_gradient(int tie, int stage) {
  return impl_->state(stage).tied_gradient_buffer(tie);
}
void TorchWork::add_tied_gradient(int tie, int from_stage, int to_stage) {
  impl_->state(to_stage).tied_gradient(tie).add_(impl_->state(from_stage).tied_gradient(tie));
}
void TorchWork::copy_tied_gradient(int tie, int from_stage, int to_stage) {
  impl_->state(to_stage).tied_gradient(tie).copy_(impl_->state(from_stage).tied_gradient(tie));
}
NormShare TorchWork::norm_share() { return impl_->norm_share(); }
void TorchWork::set_global_norm(const NormShare& all) { impl_->set_global_norm(all); }
void TorchWork::optimize(int stage) { impl_->optimize(stage); }
void TorchWork::keep_last_stage_only() { impl_->keep_last_stage_only(); }
NormShare TorchWork::norm_share_of(double squared_norm) {
  return impl_->norm_share_of(squared_norm);
}
std::optional<OptimizerStep> TorchWork::next_update() { return impl_->next_update(); }
std::vector<Buffer> TorchWork::parameters_to_gather(int stage) {
  return impl_->state(stage).weight_buckets();
}
void TorchWork::gathered(int /*stage*/) {}  // sections compute with what was gathered into

}  // namespace penstock
