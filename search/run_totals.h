// What a rank with several stages holds while the sections of its stages change one stage at a
// time: StageMemory::total_of_runs(), kept up to date. A change goes over the peaks of the rank
// once, and not once for each of its stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/memory.h"

namespace penstock {

class RunTotals {
 public:
  // All runs are empty.
  RunTotals(const StageMemory& memory, std::size_t rank);

  void set(std::size_t chunk, StageMemory::Run run);
  [[nodiscard]] Bytes total() const;

 private:
  struct Chunk {
    int stage = 0;
    StageMemory::Run run;
    std::int64_t kept = 0, working = 0;
    std::int64_t stash = 0, weight_stash = 0;  // of one micro-batch
    StageMemory::Less less{};                  // of the last one, if it is short
  };
  void save_by_last(std::size_t chunk, const StageMemory::Less& then);
  [[nodiscard]] Chunk with_run(const Chunk& before, StageMemory::Run run) const;

  const StageMemory& memory_;
  std::size_t rank_;
  std::vector<Chunk> chunks_;
  std::vector<Held> counts_;         // at the peaks of the first chunk, of the second, ..
  std::vector<std::int64_t> peaks_;  // bytes of activations
  std::int64_t fullest_ = 0;         // of these
  std::int64_t kept_ = 0;            // for the whole step, and in buffers of transfers
};

}  // namespace penstock
