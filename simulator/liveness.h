// How many activations a rank holds, from the order of its actions alone: data that partitioning
// and memory sums use before any price exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"
#include "simulator/waiting_receives.h"

namespace penstock {

// Counts at one position of a rank's list; one entry per chunk of the rank.
struct LiveCounts {
  std::vector<std::int32_t> stash;         // forward done, I or B not
  std::vector<std::int32_t> weight_stash;  // I done, W not
  bool operator==(const LiveCounts&) const = default;
};

struct RankLiveness {
  std::vector<int> stages;  // of this rank, by chunk
  // The counts that are not exceeded in every component by another position's: whatever the bytes
  // per activation, the peak lies at one of them.
  std::vector<LiveCounts> peaks;
  // Largest number of activations counted from F to B or W, over all chunks.
  std::int64_t peak_chunks = 0;
  // Largest number of receives posted and not yet consumed, by chunk; 0 where nothing is received.
  std::vector<std::int32_t> activation_receives, gradient_receives;
  // Whether chunk c sends its activation or its gradient to another rank.
  std::vector<bool> sends_activation, sends_gradient;
  // Chunks of which a forward and a backward run together: each pair once, ascending.
  std::vector<std::pair<std::size_t, std::size_t>> overlaps;
  int weight_slots = 0;  // Pipeline::weight_slots
  bool operator==(const RankLiveness&) const = default;
};

// One entry per rank of the first `pipelines`, each with its stages counted from 0 in its pipeline.
std::vector<RankLiveness> liveness(const Program& program, int pipelines = 1);

// The same for the Program that eager lowering would make of the schedule, without making it; the
// second with `waiting` from elsewhere, so that M may be large.
std::vector<RankLiveness> liveness(const Schedule& schedule);
std::vector<RankLiveness> liveness(const Schedule& schedule, const WaitingReceives& waiting);

}  // namespace penstock
