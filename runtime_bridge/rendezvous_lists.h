// What the ranks of a job issue in one step, for a transport that buffers nothing:
// check_rendezvous() judges it, and NCCL is told the directions before the first message, since to
// connect is to wait for the other side.
#pragma once

#include <utility>
#include <vector>

#include "runtime_bridge/check_rendezvous.h"
#include "runtime_bridge/rank_program.h"

namespace penstock {

// Of all ranks of the job, in the order of their lists. Transfers between two actions of another
// kind are one batch, as the executor issues them; that it posts receives earlier still and gives
// each direction a stream of its own only lets more end.
[[nodiscard]] RendezvousLists rendezvous_lists(const std::vector<RankProgram>& programs);

// The directions (from, to) in which this rank has messages, ascending: a part of the ascending
// list of the whole job, so that ranks which connect in this order never wait for each other in a
// circle.
[[nodiscard]] std::vector<std::pair<int, int>> ways_of(const RankProgram& program);

}  // namespace penstock
