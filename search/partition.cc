// Binary search over the bottleneck with greedy passes (each stage takes as many sections as it
// may), whose failed passes say the next bottleneck worth trying; then the earliest cuts within it,
// from the back. Greedy is exact only with limits that grow with a stage, boundaries that send
// alike, and no stage that would have to stay empty; in every other case partition_by_table.cc
// decides. O((stages log sections) log time).
#include "search/partition.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

// Greedy passes: each stage takes as many sections as a bottleneck and its limit allow.
class Greedy {
 public:
  explicit Greedy(const PartitionProblem& problem)
      : problem_(problem), sections_(problem.sections()) {}

  // Even with empty stages allowed and no bottleneck: can the limits cover all sections?
  [[nodiscard]] bool may_be_covered() const {
    int at = 0;
    for (int stage = 0; stage < problem_.stages && at < sections_; ++stage) {
      at = reach(stage, at, sections_, kInfinite);
    }
    return at >= sections_;
  }

  struct Pass {
    bool feasible = false;
    std::int64_t slowest = 0;           // of the stages as placed
    std::int64_t next_try = kInfinite;  // smallest bottleneck at which a stage could take more
  };
  [[nodiscard]] Pass run(std::int64_t bottleneck) const {
    Pass pass;
    int at = 0;
    for (int stage = 0; stage < problem_.stages; ++stage) {
      const int most = sections_ - (problem_.stages - stage - 1);
      const int end = reach(stage, at, most, bottleneck);
      if (end < most && fits(stage, at, end + 1)) {
        pass.next_try = std::min(pass.next_try, time(stage, at, end + 1));
      }
      pass.slowest = std::max(pass.slowest, time(stage, at, end));
      at = end;
    }
    pass.feasible = at == sections_;
    return pass;
  }

  // The longest time of one section on any stage. Below it a stage may have to stay empty, which
  // greedy passes do not know how to avoid; with stages of one speed no bottleneck is shorter.
  [[nodiscard]] std::int64_t longest_section() const {
    std::int64_t longest = 0;
    const int different = problem_.prefix_of_stage.empty() ? 1 : problem_.stages;
    for (int stage = 0; stage < different; ++stage) {
      // Ranks on one device type, which are in a row, share their times.
      if (stage > 0 && &problem_.prefix(stage) == &problem_.prefix(stage - 1)) continue;
      for (int i = 0; i < sections_; ++i) longest = std::max(longest, time(stage, i, i + 1));
    }
    return longest;
  }

  // The smallest feasible bottleneck that is no shorter than the longest section; a shorter one
  // that comes out need not be the smallest.
  [[nodiscard]] std::int64_t bottleneck(std::int64_t longest_section) const {
    std::int64_t low = longest_section;
    std::int64_t enough = kInfinite;
    if (problem_.prefix_of_stage.empty()) {
      low = std::max(low, (time(0, 0, sections_) + problem_.stages - 1) / problem_.stages);
      // Without limits stages that may take the mean and one section more take at least the mean.
      if (problem_.limit == nullptr) enough = low + longest_section;
    }
    std::int64_t high = run(enough).slowest;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const Pass pass = run(middle);
      if (pass.feasible) {
        high = pass.slowest;
      } else {
        low = pass.next_try;
      }
    }
    return high;
  }

  // The partition within the bottleneck whose cuts come earliest.
  [[nodiscard]] std::vector<int> earliest_cuts(std::int64_t bottleneck) const {
    // earliest[s]: the first section at which stages s.. can start and still reach the end.
    std::vector<int> earliest(static_cast<std::size_t>(problem_.stages) + 1, sections_);
    for (int stage = problem_.stages - 1; stage > 0; --stage) {
      const int needed = earliest[static_cast<std::size_t>(stage) + 1];
      int low = stage;
      int high = needed - 1;
      while (low < high) {
        const int middle = low + (high - low) / 2;
        const bool enough =
            time(stage, middle, needed) <= bottleneck && fits(stage, middle, needed);
        (enough ? high : low) = enough ? middle : middle + 1;
      }
      earliest[static_cast<std::size_t>(stage)] = high;
    }
    std::vector<int> cuts{0};
    for (int stage = 0; stage < problem_.stages; ++stage) {
      const int next =
          stage + 1 == problem_.stages
              ? sections_
              : std::max(cuts.back() + 1, earliest[static_cast<std::size_t>(stage) + 1]);
      cuts.push_back(next);
    }
    return cuts;
  }

 private:
  [[nodiscard]] std::int64_t time(int stage, int first, int end) const {
    const std::vector<std::int64_t>& prefix = problem_.prefix(stage);
    return prefix[static_cast<std::size_t>(end)] - prefix[static_cast<std::size_t>(first)];
  }
  [[nodiscard]] bool fits(int stage, int first, int end) const {
    return problem_.limit == nullptr || problem_.limit->fits(stage, first, end);
  }

  // The largest end <= most that the stage may reach from `first`; `first` when not even one fits.
  [[nodiscard]] int reach(int stage, int first, int most, std::int64_t bottleneck) const {
    int end = most;
    if (bottleneck != kInfinite) {
      const std::vector<std::int64_t>& prefix = problem_.prefix(stage);
      const auto from = prefix.begin() + first;
      const auto last = prefix.begin() + most + 1;
      end = static_cast<int>(
          std::upper_bound(from, last, prefix[static_cast<std::size_t>(first)] + bottleneck) -
          prefix.begin() - 1);
    }
    if (problem_.limit == nullptr || fits(stage, first, end)) return end;
    int low = first;
    while (low + 1 < end) {
      const int middle = low + (end - low) / 2;
      (fits(stage, first, middle) ? low : end) = middle;
    }
    return low;
  }

  const PartitionProblem& problem_;
  int sections_;
};

// Every cut sends the same, so traffic decides nothing.
bool has_uniform_traffic(const PartitionProblem& problem) {
  const auto& bytes = *problem.boundary_bytes;
  return std::all_of(bytes.begin(), bytes.end() - 1,
                     [&](std::int64_t b) { return b == bytes.front(); });
}

}  // namespace

std::optional<Partition> partition(const PartitionProblem& problem) {
  if (problem.stages > problem.sections()) return std::nullopt;
  const Greedy greedy(problem);
  if (problem.limit != nullptr) {
    if (problem.limit->is_hopeless(problem.stages)) return std::nullopt;
    if (!problem.limit->is_monotone()) return partition_by_table(problem);
    if (!greedy.may_be_covered()) return std::nullopt;
    if (!problem.limit->every_section_fits(problem.stages)) return partition_by_table(problem);
  }
  if (!has_uniform_traffic(problem)) return partition_by_table(problem);
  const std::int64_t longest = greedy.longest_section();
  const std::int64_t bottleneck = greedy.bottleneck(longest);
  if (!problem.prefix_of_stage.empty() && bottleneck <= longest) {
    return partition_by_table(problem);
  }
  return Partition{greedy.earliest_cuts(bottleneck), bottleneck};
}

}  // namespace penstock
