// Chooses the method by what is known exactly: one stage per rank is a partition of a chain
// (partition.h), alike layers are a question of counts (alike_cuts.h), pairs of stages a search
// with bounds (joint_cuts.h); otherwise a few starts are improved by moving single sections, and
// refusals then say that others may fit. Stages are weighed by the time of their own device and
// held to the memory of their own rank.
#include "search/choose_cuts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/alike_cuts.h"
#include "search/joint_cuts.h"
#include "search/loop_cuts.h"

namespace penstock {
namespace {

constexpr const char* kNotProven = " with the cuts that were tried (others may fit)";

// Stages of different speed: the time that each of them takes for a run of sections. A stage of two
// copies of the weights counts on both of its ranks.
class StageTimes {
 public:
  StageTimes(const RankSums& sums, const Plan& plan, BackwardKind backward) {
    const auto prefix_of = [&](int stage) -> const std::vector<std::int64_t>& {
      return sums[plan.rank_of(stage)].work_of(backward);
    };
    added_.reserve(static_cast<std::size_t>(plan.stages_per_copy()));
    prefixes_.reserve(added_.capacity());
    for (int stage = 0; stage < plan.stages_per_copy(); ++stage) {
      prefixes_.push_back(&prefix_of(stage));
      if (plan.copies() == 1) continue;
      added_.push_back(prefix_of(stage));
      const std::vector<std::int64_t>& other = prefix_of(stage + plan.stages_per_copy());
      for (std::size_t i = 0; i < other.size(); ++i) added_.back()[i] += other[i];
      prefixes_.back() = &added_.back();
    }
  }
  [[nodiscard]] const std::vector<const std::vector<std::int64_t>*>& prefixes() const {
    return prefixes_;
  }

 private:
  std::vector<std::vector<std::int64_t>> added_;
  std::vector<const std::vector<std::int64_t>*> prefixes_;
};

std::optional<std::vector<int>> cuts_of(const PartitionProblem& problem) {
  auto result = partition(problem);
  if (!result) return std::nullopt;
  return std::move(result->cuts);
}

std::optional<std::vector<int>> cuts_within(const RankSums& sums, const Plan& plan,
                                            BackwardKind backward, const StageLimit* limit) {
  PartitionProblem problem;
  problem.stages = plan.stages_per_copy();
  problem.time_prefix = &sums[0].work_of(backward);
  problem.boundary_bytes = &sums[0].boundary;
  problem.limit = limit;
  if (sums.is_one_for_all()) return cuts_of(problem);
  const StageTimes times(sums, plan, backward);
  problem.prefix_of_stage = times.prefixes();
  return cuts_of(problem);
}

// A chunk may take its share of what the device has beyond the reserve.
class ChunkShare : public StageLimit {
 public:
  ChunkShare(const StageMemory& memory, int chunks) : memory_(memory), chunks_(chunks) {}
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    const Bytes chunk = memory_.total(stage, first, end) - memory_.reserve_of(stage);
    return chunk * chunks_ <= memory_.capacity_of(stage) - memory_.reserve_of(stage);
  }
  [[nodiscard]] bool is_monotone() const override { return memory_.is_monotone(); }
  [[nodiscard]] bool is_hopeless(int stages) const override {
    return memory_.some_stage_stays_empty(stages, chunks_);
  }
  [[nodiscard]] bool every_section_fits(int stages) const override {
    return memory_.every_section_within(stages, chunks_);
  }

 private:
  const StageMemory& memory_;
  int chunks_;
};

Bytes largest(const std::vector<Bytes>& totals) {
  return *std::max_element(totals.begin(), totals.end());
}

// Several stages per rank: exact where layers are alike (alike_cuts.h) and on pairs of stages
// (joint_cuts.h), otherwise the best of a few starts whose sections are moved about.
FittingCuts joint_cuts(const RankSums& sums, const StageMemory& memory, const Plan& plan,
                       BackwardKind backward, const std::vector<int>& balanced) {
  if (!may_fit(memory, plan)) return {};
  if (are_alike(sums, memory, plan)) return alike_cuts(sums, memory, plan, backward);
  const auto fits = [&](const std::vector<int>& cuts) {
    return !over_memory(totals_of(memory, plan, cuts), plan, memory.capacity());
  };
  const auto moved = [&](std::vector<int> cuts) {
    return evened_out(sums, &memory, plan, backward, std::move(cuts));
  };
  const int sections = memory.sections();
  std::optional<std::vector<int>> pairs;
  if (are_pairs(memory, plan)) {
    pairs = pair_cuts(memory, plan, sections);
    if (!pairs) return {};
  }
  std::vector<int> cuts = moved(balanced);
  if (fits(cuts)) return {std::move(cuts)};
  if (pairs) return {moved(std::move(*pairs))};
  const ChunkShare share(memory, plan.chunks);
  if (const auto shared = cuts_within(sums, plan, backward, &share)) {
    cuts = moved(*shared);
    if (fits(cuts)) return {std::move(cuts)};
  }
  cuts = moved(equal_cuts(sections, plan.stages_per_copy()));
  if (fits(cuts)) return {std::move(cuts)};
  FittingCuts searched = loop_cuts(memory, plan);
  if (searched.cuts) searched.cuts = moved(std::move(*searched.cuts));
  return searched;
}

}  // namespace

std::vector<Bytes> totals_of(const StageMemory& memory, const Plan& plan,
                             const std::vector<int>& cuts) {
  std::vector<Bytes> totals(static_cast<std::size_t>(plan.pipeline));
  for (std::size_t r = 0; r < totals.size(); ++r) {
    totals[r] = plan.chunks == 1 ? memory.total(static_cast<int>(r), cuts[r], cuts[r + 1])
                                 : memory.total_of_rank(r, cuts);
  }
  return totals;
}

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

std::vector<int> first_cuts(int sections, int stages) {
  std::vector<int> cuts(static_cast<std::size_t>(stages) + 1);
  std::iota(cuts.begin(), cuts.end(), 0);
  cuts.back() = sections;
  return cuts;
}

bool next_cuts(std::vector<int>& cuts) {
  for (std::size_t at = cuts.size() - 2; at >= 1 && at + 1 < cuts.size(); --at) {
    const int most = cuts.back() - static_cast<int>(cuts.size() - 1 - at);
    if (cuts[at] == most) continue;
    ++cuts[at];
    for (std::size_t next = at + 1; next + 1 < cuts.size(); ++next) cuts[next] = cuts[next - 1] + 1;
    return true;
  }
  return false;
}

Rejection not_proven(Rejection reason) {
  reason.reason += kNotProven;
  return reason;
}

std::optional<std::vector<int>> balanced_cuts(const SectionSums& sums, int stages,
                                              BackwardKind backward) {
  PartitionProblem problem;
  problem.stages = stages;
  problem.time_prefix = &sums.work_of(backward);
  problem.boundary_bytes = &sums.boundary;
  return cuts_of(problem);
}

std::optional<std::vector<int>> balanced_cuts(const RankSums& sums, const Plan& plan,
                                              BackwardKind backward) {
  auto cuts = cuts_within(sums, plan, backward, nullptr);
  if (!cuts || plan.chunks == 1) return cuts;
  return evened_out(sums, nullptr, plan, backward, std::move(*cuts));
}

std::optional<Rejection> over_memory(const std::vector<Bytes>& totals, const Plan& plan,
                                     const PerRank<Bytes>& capacity) {
  int worst = -1;
  Bytes most_over;
  const int ranks = static_cast<int>(totals.size());  // listed ones
  for (int rank = 0; rank < ranks; ++rank) {
    const Bytes over = totals[static_cast<std::size_t>(rank)] - capacity[rank];
    if (over <= most_over) continue;
    worst = rank;
    most_over = over;
  }
  if (worst < 0) return std::nullopt;
  const int in_pipeline = worst % plan.pipeline;
  std::string who = role(plan.chunks == 1 ? "stage" : "rank", in_pipeline, plan.pipeline);
  if (plan.is_mixed()) who += " (" + plan.device_of_rank(worst) + ")";
  return Rejection{who + " over memory", 1, most_over, most_over, ""};
}

Cuts choose_cuts(const RankSums& sums, const StageMemory& memory, const Plan& plan,
                 BackwardKind backward, const std::vector<int>& balanced, bool only_balanced) {
  std::vector<Bytes> totals = totals_of(memory, plan, balanced);
  auto over = over_memory(totals, plan, memory.capacity());
  if (!over) return {balanced, std::nullopt, largest(totals)};
  if (only_balanced) return {{}, std::move(over), {}, true, std::move(totals)};
  FittingCuts fitting;
  if (plan.chunks == 1) {
    fitting.cuts = cuts_within(sums, plan, backward, &memory);
  } else {
    fitting = joint_cuts(sums, memory, plan, backward, balanced);
  }
  if (!fitting.cuts) {
    if (!fitting.none_is_proven) over = not_proven(std::move(*over));
    return {{}, std::move(over), {}, fitting.none_is_proven, std::move(totals)};
  }
  const Bytes fullest = largest(totals_of(memory, plan, *fitting.cuts));
  return {std::move(*fitting.cuts), std::nullopt, fullest, true, std::move(totals)};
}

}  // namespace penstock
