// A model by its config.json and a datasheet: what was asked of the estimator, and what it
// answered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/encoder_decoder.h"
#include "core/values/profile.h"

namespace penstock {

// Apart: one kernel forward and one backward, over logits in 32 bits, with their gradients beside
// them. In place: one kernel that leaves the gradients where the logits were. Eager: one kernel per
// operation.
enum class LossKind { kApart, kInPlace, kEager };

enum class AttentionKernel { kFlash2, kFlash3, kCudnn, kEager, kFlash1 };

struct EstimateRequest {
  std::string device;  // what the profile calls it; empty: the datasheet's name
  Arithmetic arithmetic = Arithmetic::kBFloat16;
  int sequence_length = 0;     // tokens per sample
  std::vector<int> samples{};  // micro-batch sizes, ascending; empty: 1, 2, 4, 8 and 16
  int most_tensor_degree = 1;  // T in powers of two up to here, where the model divides
  std::optional<AttentionKernel> attention{};  // absent: default_attention()
  // Tensors between the products of a layer divided over the ranks of a tensor-parallel group.
  bool sequence_parallel = true;
  // Of PyTorch: every collective of that group is waited for, and what is gathered or scattered
  // along sequences is copied.
  bool torch_collectives = false;
  // Gradients are added to those of other micro-batches by kernels of their own (PyTorch's
  // autograd, DeepSpeed), not by the products that make them (Megatron-LM).
  bool sums_apart = false;
  // C: ranks that divide each sequence; the estimate has rows for each.
  std::vector<int> context_degrees{1};
  // EP, of models with experts: rows for each that divides them. Experts whole on their rank
  // (ETP = 1) where EP is more than 1 or T is; with `experts_by_tensor` divided over T.
  std::vector<int> expert_degrees{1};
  bool experts_by_tensor = false;
  double expert_imbalance = 1.0;  // tokens of the busiest rank, over the mean
  bool dispatches_once = true;    // a token goes once to each rank with experts of its own
  int gradient_bytes = 4;
  // What the optimizer keeps of a parameter, master copy included; absent: AdamW's 12, in 32
  // bits 8.
  std::optional<int> optimizer_bytes{};
  // In 16 bits one kernel per operation, as PyTorch runs a model that is not compiled.
  bool eager_kernels = false;
  // Absent: as kernels are, or as the trainer of such models has it.
  std::optional<LossKind> loss{};
  // Sharded weights: a backward gathers those of the section before while it computes one; absent:
  // as the trainer of such models does.
  std::optional<bool> gathers_ahead{};
};

// What nine of ten lay within the error of: published steps, or passes over measured profiles, that
// a fit had not seen. Assumed: none were counted, or not of such models.
enum class ErrorBasis { kRuns, kPasses, kAssumed };

struct Estimate {
  ModelProfile profile;
  ErrorBand error;  // of the curve it went by
  ErrorBasis basis = ErrorBasis::kAssumed;
  // What it rests on, in words, beyond the fields of Architecture.
  std::vector<std::string> assumptions;
};

struct EstimatedModel {
  Architecture model;  // of an encoder-decoder model its decoder
  std::optional<EncoderDecoder> encoder_decoder{};
  DeviceSheet device;
  EstimateRequest request;
  Estimate estimate;
  std::vector<std::string> also_for;  // further devices that the estimate holds
};

}  // namespace penstock
