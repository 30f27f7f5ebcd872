// Cuts a chain of sections into stages so that the slowest stage is as fast as possible: exact
// dynamic programming, each stage under its own limit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock {

// Whether a stage may hold a run of sections.
class StageLimit {
 public:
  virtual ~StageLimit() = default;
  [[nodiscard]] virtual bool fits(int stage, int first, int end) const = 0;
};

struct PartitionProblem {
  int stages = 1;
  std::vector<std::int64_t> time_prefix;    // sections + 1 entries: ns of sections 0..i-1
  std::vector<std::int64_t> boundary_bytes; // per section: what a cut behind it sends
  const StageLimit* limit = nullptr;        // null: everything fits
};

struct Partition {
  std::vector<int> cuts;  // stages + 1 entries
  std::int64_t bottleneck_ns = 0;
  bool operator==(const Partition&) const = default;
};

// The partition with the smallest bottleneck; among those the one with the least boundary traffic;
// among those the one whose cuts come earliest. Nothing when no partition satisfies the limit.
// O(stages * sections^2) at worst, about sections^2 when stages are alike.
std::optional<Partition> partition(const PartitionProblem& problem);

}  // namespace penstock
