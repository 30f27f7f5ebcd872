// The kinds of actions of a Program and their names in files (PyTorch's words).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

enum class ActionKind : std::uint8_t {
  kForward,            // F
  kInputGradient,      // I
  kWeightGradient,     // W
  kFusedBackward,      // B = I + W
  kRecompute,          // R
  kSendActivation,     // SEND_F, named by the stage that owns the action
  kReceiveActivation,  // RECV_F
  kSendGradient,       // SEND_B
  kReceiveGradient,    // RECV_B
  kUnshard,            // UNSHARD: all-gather of the parameters (ZeRO-1: after the optimizer)
  kReshard,            // RESHARD
  kTiedReduce,         // TIED_REDUCE: gradients of weights that several stages hold
  kReduceGradient,     // REDUCE_GRAD: gradients over the replicas
  kNorm,               // NORM: global gradient norm, a barrier over the whole job
  kOptimizer,          // OPT
  kLoad,               // LOAD: host to device
  kStore,              // STORE: device to host
};
inline constexpr int kActionKinds = 17;

constexpr bool is_backward(ActionKind kind) {
  return kind == ActionKind::kInputGradient || kind == ActionKind::kFusedBackward;
}
// After them the weight gradients of their micro-batch are complete.
constexpr bool completes_gradient(ActionKind kind) {
  return kind == ActionKind::kFusedBackward || kind == ActionKind::kWeightGradient;
}
// Actions that keep the rank's compute stream busy.
constexpr bool is_compute(ActionKind kind) {
  return kind <= ActionKind::kRecompute || kind == ActionKind::kOptimizer;
}
constexpr bool is_send(ActionKind kind) {
  return kind == ActionKind::kSendActivation || kind == ActionKind::kSendGradient;
}
constexpr bool is_receive(ActionKind kind) {
  return kind == ActionKind::kReceiveActivation || kind == ActionKind::kReceiveGradient;
}
// Actions that a whole group performs together.
constexpr bool is_collective(ActionKind kind) {
  return kind == ActionKind::kUnshard || kind == ActionKind::kTiedReduce ||
         kind == ActionKind::kReduceGradient || kind == ActionKind::kNorm;
}
// Actions of the link to the host.
constexpr bool is_copy(ActionKind kind) { return kind >= ActionKind::kLoad; }
// Actions whose name ends in a micro-batch: 0F3, 1SEND_F0.
constexpr bool has_micro_batch(ActionKind kind) { return kind <= ActionKind::kReceiveGradient; }

std::string_view name_of(ActionKind kind);  // "F", "SEND_F"
std::optional<ActionKind> action_kind_named(std::string_view name);

}  // namespace penstock
