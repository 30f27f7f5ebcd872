// Takes a rank's state from one plan to the next: what it holds under both stays, what it lacks
// comes from ranks that have it, what it no longer needs is freed.
#pragma once

#include <cstddef>
#include <vector>

#include "core/values/units.h"
#include "training/rank_setup.h"
#include "training/rank_state.h"
#include "training/transport.h"

namespace penstock {

// Of one rank.
struct Rebound {
  std::size_t sent = 0, received = 0;  // bytes
  std::size_t copied =
      0;  // bytes that were laid out anew on the rank; what stays in place counts 0
  Duration took{};
};

// Every rank of the job calls it between two steps, when no transfer is under way. `setup`: this
// rank's, of the new plan. `before` and `after`: rank_holdings() of the two plans; `before` is
// empty for the first plan of a run, and then the state has its initial values. Optimizer state
// goes with its weights. For as long as it takes, a rank holds what it held and what it will hold.
Rebound rebind(RankState& state, const RankSetup& setup, const std::vector<RankSetup>& before,
               const std::vector<RankSetup>& after, Transport& transport);

}  // namespace penstock
