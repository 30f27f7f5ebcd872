#include "estimator/estimate_assumptions.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr int kTile = 128;

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::floor(100.0 * share + 0.5))) + " %";
}

void add_experts(const EstimateChoices& choices, std::vector<std::string>& list) {
  const double more = choices.request.expert_imbalance;
  list.push_back(more > 1.0 ? "the busiest rank of experts gets " +
                                  std::to_string(static_cast<int>(std::lround(100.0 * more))) +
                                  " % of the mean's tokens (EP > 1)"
                            : "tokens spread evenly over experts");
  list.emplace_back(
      choices.request.dispatches_once
          ? "EP > 1: a token goes once to each node, and once to each rank there, that has one "
            "of its experts (DeepEP, HybridEP); --expert-dispatch copies: once for each expert"
          : "EP > 1: a token goes once for each of its experts (all-to-all)");
}

std::string attention_in_words(const EstimateChoices& choices) {
  if (choices.kernel == AttentionKernel::kEager) return "attention eager (scores kept in memory)";
  const AttentionKey key{choices.request.sequence_length, score_width(choices.model), false};
  return "attention fused, " + std::string(name_of(choices.kernel)) + " (scores are not stored): " +
         percent(attention_share(choices.kernel, choices.device, key)) +
         " of the peak rate forward";
}

std::string selective_in_words(const EstimateChoices& choices) {
  return choices.kernel == AttentionKernel::kEager
             ? "recompute 'selective': the scores of attention are computed again"
             : "recompute 'selective': the outputs of attention and of every second matrix "
               "product are kept, as in torchtitan (Megatron's selective mode saves nothing with "
               "fused "
               "attention)";
}

// Tiles of 128 that reach beyond a rank's part compute for nothing.
void add_odd_tiles(const EstimateChoices& choices, const std::vector<int>& degrees,
                   std::vector<std::string>& list) {
  std::string odd;
  for (const int degree : degrees) {
    const auto ends_in_tile = [&](int width) { return (width / degree) % kTile == 0; };
    const bool even =
        ends_in_tile(choices.model.hidden) && ends_in_tile(choices.model.feed_forward);
    if (!even) odd += (odd.empty() ? "" : ", ") + std::to_string(degree);
  }
  if (odd.empty()) return;
  list.push_back("hidden " + std::to_string(choices.model.hidden) + " or feed-forward " +
                 std::to_string(choices.model.feed_forward) + " over T = " + odd +
                 " is not a multiple of 128: matrix products have tiles that are partly empty");
}

// Tensors and sequences that ranks divide between them.
void add_divided(const EstimateChoices& choices, const std::vector<int>& degrees,
                 std::vector<std::string>& list) {
  const EstimateRequest& request = choices.request;
  if (degrees.size() > 1) {
    const bool divides = request.sequence_parallel;
    list.emplace_back(divides ? "sequence parallelism where TP > 1: norms and residuals are "
                                "divided over the TP ranks"
                              : "no sequence parallelism: every TP rank has norms and residuals "
                                "whole");
    if (request.torch_collectives) {
      list.emplace_back(std::string("PyTorch's tensor parallelism: every collective is waited "
                                    "for") +
                        (divides ? ", and copied" : ""));
    }
  }
  const std::vector<int>& divided = request.context_degrees;
  if (request.torch_collectives &&
      std::any_of(divided.begin(), divided.end(), [](int degree) { return degree > 1; })) {
    list.emplace_back(request.eager_kernels
                          ? "PyTorch's context parallelism: gradients of keys and values in 32 bits"
                          : "PyTorch's context parallelism: gradients of keys and values in 32 "
                            "bits, and compiled code waits for all that is sent");
  }
}

void add_loss_and_kernels(const EstimateChoices& choices, const std::vector<int>& degrees,
                          std::vector<std::string>& list) {
  if (choices.loss_in_place()) {
    list.emplace_back("the loss is one kernel that leaves its gradients in the logits' place" +
                      std::string(choices.request.loss ? "" : " (llm-foundry's default)"));
  }
  if (choices.gathers_late()) {
    list.emplace_back(
        "sharded weights: a backward does not gather those of the next section while it computes "
        "one (Composer's BACKWARD_POST)");
  }
  if (choices.unfused()) {
    list.emplace_back(
        "kernels that are not fused: one per operation of norms, rotary positions and gates");
  }
  if (choices.loss() == LossKind::kEager) {
    list.emplace_back(
        choices.request.torch_collectives && degrees.size() > 1
            ? "the loss is one kernel per operation: 12 bytes a logit at once, 16 where TP > 1"
            : "the loss is one kernel per operation: 12 bytes a logit at once");
  }
}

void add_float8(const EstimateChoices& choices, std::vector<std::string>& list) {
  list.emplace_back(
      "layers multiply 8 bits, casts included; embedding, head, attention and what lies between "
      "stay in bfloat16; weights of 2 bytes: 8 bits, and their transposes or a copy of 16 bits");
  if (choices.float8->generation == "any") {
    list.push_back("no run in 8 bits was published on a device of the generation " +
                   choices.device.generation + ": as on others, over its own peak");
  }
}

// Figures of the datasheet that somebody assumed.
void add_sheet(const EstimateChoices& choices, std::vector<std::string>& list) {
  const DeviceSheet& device = choices.device;
  const PeakRate& peak = *device.peak(choices.request.arithmetic);
  for (const int index :
       {peak.source, device.memory_source, device.memory_bandwidth_source, device.node.source}) {
    const Source& source = device.sources[static_cast<std::size_t>(index)];
    if (source.origin != Origin::kAssumed) continue;
    const std::string text = device.name + ": " + source.text;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
}

}  // namespace

std::string shares_in_words(const EstimateChoices& choices) {
  return percent(choices.curve.terms.products) + " of the peak rate and " +
         percent(choices.curve.terms.memory) + " of the memory bandwidth, fitted on measured " +
         (choices.curve.eager ? "profiles" : "runs") +
         (choices.curve.generation == "any"
              ? " of other devices"
              : " of devices of its generation (" + choices.curve.generation + ")");
}

void add_assumptions(const EstimateChoices& choices, const std::vector<int>& degrees,
                     std::vector<std::string>& list) {
  list.push_back(attention_in_words(choices));
  add_divided(choices, degrees, list);
  add_loss_and_kernels(choices, degrees, list);
  list.push_back(selective_in_words(choices));
  list.emplace_back(
      "recompute 'full' runs the forward of a layer again; with TP = 1 without its last matrix "
      "product, as PyTorch and XLA do");
  list.emplace_back(
      "gradients are reduced and parameters gathered in buckets, overlapped with compute");
  if (choices.request.gradient_bytes == 4) list.emplace_back("gradients of 4 bytes");
  add_odd_tiles(choices, degrees, list);
  if (choices.model.experts) add_experts(choices, list);
  if (choices.float8 != nullptr) add_float8(choices, list);
  if (choices.curve.generation == "any") {
    list.push_back("no profile was measured on a device of the generation " +
                   choices.device.generation + " with this arithmetic");
  }
  add_sheet(choices, list);
}

}  // namespace penstock
