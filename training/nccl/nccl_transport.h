// NCCL as a Transport: one two-rank communicator per direction between two ranks, one per group,
// each on a stream of its own. Communicators do not block, so that every wait has an end and
// abort() works from any thread. NCCL buffers nothing: what ranks issue must pass
// check_rendezvous().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.h"
#include "training/key_value_store.h"
#include "training/transport.h"

namespace penstock {

struct NcclOptions {
  int rank = 0, size = 1;
  int device = 0;    // of this process; ranks of one communicator need different GPUs
  std::string name;  // of this attempt at the job: its keys in the store begin with it
  Duration time_out = std::chrono::minutes(5);  // of each wait
  // An open receive occupies this many of the GPU's SMs until its sender is there, so fewer leave
  // more to the compute beside it. Assumed, not measured: a CTA copies about 20 GB/s, and 8 keep up
  // with a network adapter. NCCL_MAX_CTAS in the environment overrides it.
  int most_ctas_of_way = 8;
  // Directions (from, to) that this rank will use, ascending on every rank. They are connected at
  // once; others at their first message, which then waits for the other side.
  std::vector<std::pair<int, int>> ways;
};

// Error{kMissingResource} when there is no such GPU. Buffers in host memory go through the GPU.
std::unique_ptr<Transport> make_nccl_transport(const NcclOptions& options,
                                               std::unique_ptr<KeyValueStore> store);

}  // namespace penstock
