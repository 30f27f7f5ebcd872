// Measured peaks of memory -> MemoryFactors.
#pragma once

#include <optional>
#include <vector>

#include "core/values/calibration.h"
#include "core/values/evaluation.h"
#include "core/values/profile.h"

namespace penstock {

// What the fullest device of a run holds, in bytes, by what a factor or a term stands before.
struct MemoryRun {
  double measured = 0.0;    // 0: not measured
  double parameters = 0.0;  // how many: what one byte per parameter more would add
  double activations = 0.0;
  double reserve = 0.0;
  double rest = 0.0;
  [[nodiscard]] double predicted() const { return activations + reserve + rest; }
};

MemoryRun memory_run(const Evaluation& evaluation, const TrainingState& training,
                     std::optional<Bytes> measured);

// Of runs with a measured peak; the same robust fit as that of times, with priors: none to four
// bytes per parameter more, activations within a fifth, the reserve near its own or within a GiB.
// Neutral where there is no run.
MemoryFactors fit_memory(const std::vector<MemoryRun>& runs);

}  // namespace penstock
