// Dynamic programming over (stage, first section), for the cases that greedy passes do not decide:
// limits that are not monotone, sections that do not fit, boundaries of different traffic. A first
// table gives the shortest bottleneck, a second one, over the partitions within it, the least
// traffic; walking forward through it gives the earliest cuts. O(stages x sections^2), with a row
// left as soon as the stage alone is slower than the best found.
#include <algorithm>
#include <limits>

#include "search/partition.h"

namespace penstock {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

// Tables are indexed by (stage, first section): the best way to place the sections from `first` on
// the stages from `stage` on.
class Solver {
 public:
  explicit Solver(const PartitionProblem& problem)
      : problem_(problem),
        sections_(problem.sections()),
        bottleneck_(
            static_cast<std::size_t>(problem.stages + 1) * static_cast<std::size_t>(sections_ + 1),
            kInfinite) {}

  std::optional<Partition> solve() {
    if (problem_.stages > sections_) return std::nullopt;
    find_bottleneck();
    const std::int64_t best = bottleneck_[at(0, 0)];
    if (best == kInfinite) return std::nullopt;
    return Partition{least_traffic(best), best};
  }

 private:
  [[nodiscard]] std::size_t at(int stage, int first) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(sections_ + 1) +
           static_cast<std::size_t>(first);
  }
  [[nodiscard]] bool fits(int stage, int first, int end) const {
    return problem_.limit == nullptr || problem_.limit->fits(stage, first, end);
  }
  // Stage `stage` can start at sections stage .. sections - (stages left).
  [[nodiscard]] int last_start(int stage) const { return sections_ - (problem_.stages - stage); }

  void find_bottleneck() {
    bottleneck_[at(problem_.stages, sections_)] = 0;
    for (int stage = problem_.stages - 1; stage >= 0; --stage) {
      const int highest = stage == 0 ? 0 : last_start(stage);  // stage 0 starts at section 0
      const std::int64_t* prefix = problem_.prefix(stage).data();
      const std::int64_t* behind = &bottleneck_[at(stage + 1, 0)];
      for (int first = highest; first >= stage; --first) {
        std::int64_t best = kInfinite;
        const int shortest = stage + 1 == problem_.stages ? sections_ : first + 1;
        for (int end = shortest; end <= last_start(stage) + 1; ++end) {
          const std::int64_t own = prefix[end] - prefix[first];
          if (own >= best) break;  // longer stages are slower still
          const std::int64_t rest = behind[end];
          const std::int64_t both = std::max(own, rest);
          if (both < best && fits(stage, first, end)) best = both;
        }
        bottleneck_[at(stage, first)] = best;
      }
    }
  }

  // Second pass: least traffic among the partitions within the bottleneck; walking forward, the
  // earliest cut that attains it.
  std::vector<int> least_traffic(std::int64_t bottleneck) {
    std::vector<std::int64_t> traffic(bottleneck_.size(), kInfinite);
    traffic[at(problem_.stages, sections_)] = 0;
    std::vector<int> choice(bottleneck_.size(), 0);
    for (int stage = problem_.stages - 1; stage >= 0; --stage) {
      const int highest = stage == 0 ? 0 : last_start(stage);
      const std::int64_t* prefix = problem_.prefix(stage).data();
      const std::int64_t* behind = &traffic[at(stage + 1, 0)];
      for (int first = highest; first >= stage; --first) {
        if (bottleneck_[at(stage, first)] > bottleneck) continue;
        const int shortest = stage + 1 == problem_.stages ? sections_ : first + 1;
        for (int end = shortest; end <= last_start(stage) + 1; ++end) {
          if (prefix[end] - prefix[first] > bottleneck) break;
          const std::int64_t rest = behind[end];
          if (rest == kInfinite) continue;
          const std::int64_t sum =
              rest +
              (end < sections_ ? (*problem_.boundary_bytes)[static_cast<std::size_t>(end - 1)] : 0);
          if (sum < traffic[at(stage, first)] && fits(stage, first, end)) {
            traffic[at(stage, first)] = sum;
            choice[at(stage, first)] = end;
          }
        }
      }
    }
    std::vector<int> cuts{0};
    for (int stage = 0; stage < problem_.stages; ++stage) {
      cuts.push_back(choice[at(stage, cuts.back())]);
    }
    return cuts;
  }

  const PartitionProblem& problem_;
  int sections_;
  std::vector<std::int64_t> bottleneck_;
};

}  // namespace

std::optional<Partition> partition_by_table(const PartitionProblem& problem) {
  return Solver(problem).solve();
}

}  // namespace penstock
