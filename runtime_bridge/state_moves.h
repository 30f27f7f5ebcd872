// Which rank gets which part of the model's state from which other, when one plan takes the place
// of another. Pure, and the same on every rank, so that both sides of every message know of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime_bridge/checkpoint_manifest.h"
#include "training/rank_setup.h"
#include "training/rank_state.h"

namespace penstock {

// Elements [begin, end) of a tensor of a section.
struct StateMove {
  int from = 0, to = 0;  // ranks of the job; equal: it stays on the rank, perhaps in other memory
  int section = 0;
  StateKind kind = StateKind::kParameters;
  std::string name;  // StatePiece::name
  std::size_t begin = 0, end = 0;
  bool operator==(const StateMove&) const = default;
};

// Those in which `rank` has a part, by (from, to). `before` and `after`: rank_holdings() of the two
// plans, by rank; a rank that is new holds nothing before. What a rank holds already it takes from
// itself; of several others that hold the same, receivers ask each in turn. `state`: any rank's.
// Error{kMissingResource} when the rank needs what nobody holds.
std::vector<StateMove> state_moves(const RankState& state, const std::vector<RankSetup>& before,
                                   const std::vector<RankSetup>& after, int rank);

}  // namespace penstock
