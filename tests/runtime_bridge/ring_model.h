// A model in which everything is exact: numbers are int64 that wrap around, so sums are the same in
// any order, and losses, gradients and weights of a run are known to the bit from a plain loop over
// samples.
//
// Section k has the weights w[k][0..n). Of a sample x it makes c x, where c is
// 1 w[k][0] + 2 w[k][1] + ..., and the tied weights that it shares. Sample i of a step has
// x = 3 + 17 step + i, and its loss is (i + 1) y.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/rank_work.h"

namespace penstock::testing {

using Numbers = std::vector<std::int64_t>;

struct RingModel {
  int sections = 1;
  struct Tie {
    std::string name;
    std::vector<int> sections;
  };
  std::vector<Tie> ties;
};

struct RingWeights {
  std::vector<Numbers> sections;  // [section]
  Numbers ties;                   // [tie]
  bool operator==(const RingWeights&) const = default;
};
RingWeights first_weights(const RingModel& model);

// What all ranks must agree on after a step. Norm and loss are sums of small parts of the true
// numbers, so that a double holds them exactly.
struct RingStep {
  NormShare all;
  RingWeights weights;
};
// `normed`: the step has a NORM, and the update depends on it.
RingStep plain_step(const RingModel& model, const RingWeights& weights, std::int64_t step,
                    int samples, bool normed);

}  // namespace penstock::testing
