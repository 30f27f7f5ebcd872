// What a rank keeps of some parameters for the whole step: weights, gradients and optimizer state,
// under whatever the plan shards (docs/cost_model.md, "Sharding"). The one place that counts it,
// for prices and for the search's sums.
#pragma once

#include <cstdint>

#include "core/values/held_parameters.h"
#include "core/values/plan.h"
#include "core/values/profile.h"

namespace penstock {

struct StateBytes {
  std::int64_t parameters = 0, gradients = 0, optimizer = 0;
  [[nodiscard]] std::int64_t sum() const { return parameters + gradients + optimizer; }
};

class ShardedState {
 public:
  ShardedState(const TrainingState& training, const Plan& plan);
  // ZeRO-1 over so many holders.
  ShardedState(const TrainingState& training, int optimizer_shards);

  // Of so many parameters; what is divided is rounded up. Those of experts have holders of their
  // own, which divide them.
  [[nodiscard]] StateBytes of(const HeldParameters& parameters) const;
  [[nodiscard]] StateBytes of(std::int64_t parameters) const {
    return of(HeldParameters{parameters});
  }
  // No more than that of any number of parameters adds up to, per parameter.
  [[nodiscard]] std::int64_t least_of(const HeldParameters& parameters) const;
  [[nodiscard]] std::int64_t least_of(std::int64_t parameters) const {
    return least_of(HeldParameters{parameters});
  }
  // What gathers and reductions of sections with so many parameters take besides, at most, when
  // the backward comes to `own` from `behind` and `before` is gathered next; 0: there is none.
  [[nodiscard]] std::int64_t buffers(std::int64_t before, std::int64_t own,
                                     std::int64_t behind) const;
  [[nodiscard]] bool has_buffers() const { return gathered_ > 0 || reduced_ > 0; }

 private:
  // Bytes per parameter, held whole and divided.
  StateBytes whole_, divided_;
  std::int64_t shards_, expert_shards_;
  std::int64_t gathered_ = 0, reduced_ = 0, unreduced_ = 0;  // bytes per parameter of the buffers
};

// Of a run of sections with these parameters, the most that section_buffers() come to.
template <class ParametersOf>
std::int64_t most_section_buffers(const ShardedState& state, int first, int end,
                                  const ParametersOf& parameters_of) {
  std::int64_t most = 0;
  if (!state.has_buffers()) return most;
  for (int i = first; i < end; ++i) {
    const std::int64_t before = i > first ? parameters_of(i - 1) : 0;
    const std::int64_t behind = i + 1 < end ? parameters_of(i + 1) : 0;
    const std::int64_t here = state.buffers(before, parameters_of(i), behind);
    most = here > most ? here : most;
  }
  return most;
}

}  // namespace penstock
