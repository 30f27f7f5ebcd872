#include "search/choose_cuts.h"

namespace penstock {
namespace {

std::optional<std::vector<int>> cuts_within(const SectionSums& sums, int stages, bool split,
                                            const StageLimit* limit) {
  PartitionProblem problem;
  problem.stages = stages;
  problem.time_prefix = &sums.work_of(split);
  problem.boundary_bytes = &sums.boundary;
  problem.limit = limit;
  auto result = partition(problem);
  if (!result) return std::nullopt;
  return std::move(result->cuts);
}

// A chunk may take its share of what the device has beyond the reserve.
class ChunkShare : public StageLimit {
 public:
  ChunkShare(const StageMemory& memory, int chunks) : memory_(memory), chunks_(chunks) {}
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    const Bytes chunk = memory_.total(stage, first, end) - memory_.reserve();
    return chunk * chunks_ <= memory_.capacity() - memory_.reserve();
  }
  [[nodiscard]] bool is_monotone() const override { return memory_.is_monotone(); }

 private:
  const StageMemory& memory_;
  int chunks_;
};

// The stage, or with several stages per rank the rank, that is over by most under these cuts.
std::optional<Rejection> most_over(const StageMemory& memory, const Plan& plan,
                                   const std::vector<int>& cuts) {
  std::optional<Rejection> worst;
  for (int r = 0; r < plan.pipeline; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Bytes total =
        plan.chunks == 1 ? memory.total(r, cuts[i], cuts[i + 1]) : memory.total_of_rank(i, cuts);
    const Bytes over = total - memory.capacity();
    if (over.count <= 0 || (worst && over <= *worst->most_over)) continue;
    const std::string who = role(plan.chunks == 1 ? "stage" : "rank", r, plan.pipeline);
    worst = Rejection{who + " over memory", 1, over, over, ""};
  }
  return worst;
}

}  // namespace

std::string role(const std::string& noun, int index, int count) {
  if (count == 1) return "the only " + noun;
  if (index == 0) return noun + " 0";
  return (index + 1 == count ? "the last " : "a middle ") + noun;
}

std::vector<int> equal_cuts(int sections, int stages) {
  std::vector<int> cuts{0};
  for (int s = 0; s < stages; ++s) {
    cuts.push_back(cuts.back() + sections / stages + (s < sections % stages ? 1 : 0));
  }
  return cuts;
}

std::optional<std::vector<int>> balanced_cuts(const SectionSums& sums, int stages, bool split) {
  return cuts_within(sums, stages, split, nullptr);
}

Cuts choose_cuts(const SectionSums& sums, const StageMemory& memory, const Plan& plan, bool split,
                 const std::vector<int>& balanced) {
  auto over = most_over(memory, plan, balanced);
  if (!over) return {balanced, std::nullopt};
  if (plan.chunks == 1) {
    auto cuts = cuts_within(sums, plan.stages(), split, &memory);
    if (cuts) return {std::move(*cuts), std::nullopt};
  } else {
    const ChunkShare share(memory, plan.chunks);
    auto cuts = cuts_within(sums, plan.stages(), split, &share);
    if (cuts && !most_over(memory, plan, *cuts)) return {std::move(*cuts), std::nullopt};
  }
  return {{}, std::move(over)};
}

}  // namespace penstock
