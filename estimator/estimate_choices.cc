#include "estimator/estimate_choices.h"

#include <string>

#include "core/values/error.h"

namespace penstock {
namespace {

// MPT's trainer, llm-foundry, ran its attention in Triton until 2024, and its models date from
// before.
AttentionKernel attention_for(const Architecture& model, const DeviceSheet& device,
                              Arithmetic arithmetic) {
  const AttentionKernel usual = default_attention(device, arithmetic);
  return model.family == "MPT" && usual != AttentionKernel::kEager ? AttentionKernel::kFlash1
                                                                   : usual;
}

}  // namespace

EstimateChoices::EstimateChoices(const Architecture& of_model, const DeviceSheet& of_device,
                                 const Efficiency& efficiency, const EstimateRequest& of_request)
    : model(of_model),
      device(of_device),
      request(of_request),
      wide(request.arithmetic == Arithmetic::kFloat8 ? Arithmetic::kBFloat16 : request.arithmetic),
      curve(curve_for(efficiency, device, wide)),
      float8(request.arithmetic == Arithmetic::kFloat8
                 ? &curve_for(efficiency, device, Arithmetic::kFloat8)
                 : nullptr),
      kernel(request.attention.value_or(attention_for(model, device, wide))) {}

Rates EstimateChoices::rates() const {
  const PeakRate* peak = device.peak(request.arithmetic);
  if (peak == nullptr || device.peak(wide) == nullptr) {
    std::string known;
    for (const PeakRate& each : device.peaks) {
      known += (known.empty() ? "" : ", or --precision ") + std::string(name_of(each.arithmetic));
    }
    throw_bad_input("the datasheet of " + device.name + " has no rate for " +
                    std::string(name_of(request.arithmetic)) + "\nhelp: write --precision " +
                    known);
  }
  Rates rates = rates_of(device, device.peak(wide)->flops_per_s, curve, kernel,
                         request.sequence_length, score_width(model));
  if (float8 != nullptr) use_float8(*float8, peak->flops_per_s, rates);
  return rates;
}

CountKey EstimateChoices::key_of(int tensor_degree, int context_degree, int samples) const {
  CountKey key;
  key.tensor_degree = tensor_degree;
  key.samples = samples;
  key.sequence_length = request.sequence_length;
  key.element_bytes = bytes_of(request.arithmetic);
  key.attention = kind_of(kernel);
  key.sequence_parallel = request.sequence_parallel && tensor_degree > 1;
  key.context_degree = context_degree;
  key.eager = curve.eager;
  key.imbalance = request.expert_imbalance;
  key.is_float8 = float8 != nullptr;
  key.loss_in_place = loss_in_place();
  key.gradient_bytes = curve.eager ? 0 : gradient_bytes();
  key.torch_collectives = request.torch_collectives;
  key.unfused = unfused();
  key.eager_loss = loss() == LossKind::kEager;
  key.sums_apart = sums_apart();
  return key;
}

int EstimateChoices::gradient_bytes() const {
  return bytes_of(request.arithmetic) == 2 ? request.gradient_bytes : 4;
}

int EstimateChoices::optimizer_bytes() const {
  return request.optimizer_bytes.value_or(bytes_of(request.arithmetic) == 2 ? 12 : 8);
}

// In place: llm-foundry's default for MPT (loss_fn: fused_crossentropy).
LossKind EstimateChoices::loss() const {
  if (curve.eager) return LossKind::kApart;  // its passes are counted so
  if (request.loss) return *request.loss;
  if (model.family == "MPT") return LossKind::kInPlace;
  return request.eager_kernels ? LossKind::kEager : LossKind::kApart;
}

// Composer's default (fsdp_config: backward_prefetch: BACKWARD_POST), under which llm-foundry
// trains MPT.
bool EstimateChoices::gathers_late() const {
  return !request.gathers_ahead.value_or(model.family != "MPT");
}

// In 8 bits sums show whole in the published steps (docs/accuracy.md, "8 bits"); nobody published
// times of products there.
bool EstimateChoices::sums_apart() const { return request.sums_apart || float8 != nullptr; }

}  // namespace penstock
