#include "search/choose_cuts.h"

namespace penstock {
namespace {

std::optional<std::vector<int>> cuts_within(const SectionSums& sums, int stages, bool split,
                                            const StageLimit* limit) {
  PartitionProblem problem;
  problem.stages = stages;
  problem.time_prefix = sums.work_of(split);
  problem.boundary_bytes = sums.boundary;
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

 private:
  const StageMemory& memory_;
  int chunks_;
};

// The stage of these cuts that is over by most.
std::optional<Rejection> most_over(const StageMemory& memory, const std::vector<int>& cuts) {
  std::optional<Rejection> worst;
  const int stages = static_cast<int>(cuts.size()) - 1;
  for (int s = 0; s < stages; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const Bytes over = memory.total(s, cuts[i], cuts[i + 1]) - memory.capacity();
    if (over.count <= 0 || (worst && over <= *worst->most_over)) continue;
    worst = Rejection{role("stage", s, stages) + " over memory", 1, over, over, ""};
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
  if (plan.chunks > 1) {
    const ChunkShare share(memory, plan.chunks);
    auto cuts = cuts_within(sums, plan.stages(), split, &share);
    return {cuts.value_or(balanced), std::nullopt};
  }
  auto over = most_over(memory, balanced);
  if (!over) return {balanced, std::nullopt};
  auto cuts = cuts_within(sums, plan.stages(), split, &memory);
  if (cuts) return {std::move(*cuts), std::nullopt};
  return {{}, std::move(over)};
}

}  // namespace penstock
