// Cuts a chain of sections into stages so that the slowest stage is as fast as possible, each stage
// under its own limit. Exact.
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
  // Whether a run that fits still fits when it loses sections at either end.
  [[nodiscard]] virtual bool is_monotone() const { return false; }
  // Where all sections go on so many stages: whether one of them can hold none of the sections that
  // it could get; whether each can hold any of those alone. Both may say no when unsure.
  [[nodiscard]] virtual bool is_hopeless(int /*stages*/) const { return false; }
  [[nodiscard]] virtual bool every_section_fits(int /*stages*/) const { return false; }
};

struct PartitionProblem {
  int stages = 1;
  const std::vector<std::int64_t>* time_prefix = nullptr;  // sections + 1: ns of sections 0..i-1
  const std::vector<std::int64_t>* boundary_bytes =
      nullptr;                        // per section: what a cut behind it sends
  const StageLimit* limit = nullptr;  // null: everything fits
  // Stages of different speed: a prefix for each of them. Empty: time_prefix for all.
  std::vector<const std::vector<std::int64_t>*> prefix_of_stage{};

  [[nodiscard]] const std::vector<std::int64_t>& prefix(int stage) const {
    return prefix_of_stage.empty() ? *time_prefix
                                   : *prefix_of_stage[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] int sections() const { return static_cast<int>(prefix(0).size()) - 1; }
};

struct Partition {
  std::vector<int> cuts;  // stages + 1 entries
  std::int64_t bottleneck_ns = 0;
  bool operator==(const Partition&) const = default;
};

// The partition with the smallest bottleneck; among those the one with the least boundary traffic;
// among those the one whose cuts come earliest. Nothing when no partition satisfies the limit.
//
// A monotone limit makes the sections that s stages can reach an interval, so the bottleneck is
// found by bisection over greedy passes, O(stages * log sections) each; without it by the table.
// So it is with stages of different speed as long as every stage is fast enough for any one
// section; where a bottleneck below that is possible, the table finds it.
std::optional<Partition> partition(const PartitionProblem& problem);

// The same by dynamic programming over (stage, first section) alone, O(stages * sections^2): for
// limits that are not monotone, and the oracle of the tests.
std::optional<Partition> partition_by_table(const PartitionProblem& problem);

}  // namespace penstock
