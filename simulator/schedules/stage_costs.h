// What an automatic schedule weighs: one entry per stage (boundary vectors: one less). Made from
// StagePrices for one shape of micro-batch, or from the costs of the command line.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"

namespace penstock {

struct StageCosts {
  std::vector<Duration> forward, input_gradient, weight_gradient;
  // Transfers over boundary s -> s + 1 and back; zero on one rank.
  std::vector<Duration> activation, gradient;
  // Memory that F takes, and that I and W give back (both >= 0; taken = sum of what is given back).
  std::vector<std::int64_t> taken_by_forward, freed_by_input_gradient, freed_by_weight_gradient;
  std::vector<std::int64_t> limit;  // per rank, same unit
  bool operator==(const StageCosts&) const = default;
};

}  // namespace penstock
