// How ranks divide what a layer computes, beside tensor parallelism: the sequence, and the experts.
#pragma once

#include <compare>

namespace penstock {

// How ranks that divide a sequence come by the keys and values of the others.
enum class ContextKind {
  kRing,       // they go round, one part at a time, beside attention
  kAllGather,  // all of them before attention
  kUlysses,    // each rank gets some heads of the whole sequence, and gives them back behind it
};

struct OtherDegrees {
  int context = 1;        // C
  int expert = 1;         // EP: ranks that have the experts of a layer between them
  int expert_tensor = 0;  // ETP: ranks that divide the matrices of one expert; 0: T
  ContextKind context_kind = ContextKind::kRing;

  OtherDegrees() = default;
  OtherDegrees(int context_degree) : context(context_degree) {}
  OtherDegrees(int context_degree, int experts, int of_one_expert,
               ContextKind kind = ContextKind::kRing)
      : context(context_degree),
        expert(experts),
        expert_tensor(of_one_expert),
        context_kind(kind) {}
  // ETP in a plan with this T.
  [[nodiscard]] int expert_tensor_of(int tensor) const {
    return expert_tensor > 0 ? expert_tensor : tensor;
  }
  auto operator<=>(const OtherDegrees&) const = default;
};

}  // namespace penstock
