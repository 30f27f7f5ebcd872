#include "core/values/held_parameters.h"

namespace penstock {

std::optional<HeldParameters> held_parameters(const SectionType& type, int tensor_degree,
                                              const OtherDegrees& others) {
  for (const ParameterCount& count : type.parameters) {
    if (count.tensor_degree != tensor_degree) continue;
    const int ranks = others.expert * others.expert_tensor_of(tensor_degree);
    if (type.expert_parameters == 0 || ranks == tensor_degree) return HeldParameters{count.count};
    const std::int64_t rest = count.count - type.expert_parameters / tensor_degree;
    const std::int64_t experts = (type.expert_parameters + ranks - 1) / ranks;
    return HeldParameters{rest + experts, experts};
  }
  return std::nullopt;
}

}  // namespace penstock
