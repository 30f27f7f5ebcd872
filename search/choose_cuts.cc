#include "search/choose_cuts.h"

#include <algorithm>

namespace penstock {
namespace {

std::optional<std::vector<int>> cuts_within(const SectionSums& sums, int stages,
                                            BackwardKind backward, const StageLimit* limit) {
  PartitionProblem problem;
  problem.stages = stages;
  problem.time_prefix = &sums.work_of(backward);
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
  [[nodiscard]] bool every_section_fits() const override {
    return memory_.every_section_within(
        Bytes{(memory_.capacity() - memory_.reserve()).count / chunks_});
  }

 private:
  const StageMemory& memory_;
  int chunks_;
};

// What every rank holds under these cuts.
std::vector<Bytes> totals_of(const StageMemory& memory, const Plan& plan,
                             const std::vector<int>& cuts) {
  std::vector<Bytes> totals(static_cast<std::size_t>(plan.pipeline));
  for (std::size_t r = 0; r < totals.size(); ++r) {
    totals[r] = plan.chunks == 1 ? memory.total(static_cast<int>(r), cuts[r], cuts[r + 1])
                                 : memory.total_of_rank(r, cuts);
  }
  return totals;
}

Bytes largest(const std::vector<Bytes>& totals) {
  return *std::max_element(totals.begin(), totals.end());
}

// The stage, or with several stages per rank the rank, that is over by most.
std::optional<Rejection> most_over(const std::vector<Bytes>& totals, int chunks, Bytes capacity) {
  const auto worst = std::max_element(totals.begin(), totals.end());
  const Bytes over = *worst - capacity;
  if (over.count <= 0) return std::nullopt;
  const std::string who =
      role(chunks == 1 ? "stage" : "rank", static_cast<int>(worst - totals.begin()),
           static_cast<int>(totals.size()));
  return Rejection{who + " over memory", 1, over, over, ""};
}

// Other cuts move memory between ranks; they hardly make less of it.
bool mean_fits(const std::vector<Bytes>& totals, Bytes capacity) {
  Bytes sum;
  for (const Bytes total : totals) sum += total;
  return sum <= capacity * static_cast<std::int64_t>(totals.size());
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

std::optional<std::vector<int>> balanced_cuts(const SectionSums& sums, int stages,
                                              BackwardKind backward) {
  return cuts_within(sums, stages, backward, nullptr);
}

Cuts choose_cuts(const SectionSums& sums, const StageMemory& memory, const Plan& plan,
                 BackwardKind backward, const std::vector<int>& balanced, bool only_balanced) {
  const auto totals = totals_of(memory, plan, balanced);
  auto over = most_over(totals, plan.chunks, memory.capacity());
  if (!over) return {balanced, std::nullopt, largest(totals)};
  only_balanced = only_balanced || (plan.chunks > 1 && !mean_fits(totals, memory.capacity()));
  if (only_balanced) return {{}, std::move(over), {}};
  const ChunkShare share(memory, plan.chunks);
  const StageLimit& limit = plan.chunks == 1 ? static_cast<const StageLimit&>(memory) : share;
  if (auto cuts = cuts_within(sums, plan.stages_per_copy(), backward, &limit)) {
    const Bytes fullest = largest(totals_of(memory, plan, *cuts));
    if (fullest <= memory.capacity()) return {std::move(*cuts), std::nullopt, fullest};
  }
  return {{}, std::move(over), {}};
}

}  // namespace penstock
