// Step times that no candidate of a schedule in a group beats, whatever its cuts: asked in the
// order of their cost, before cuts are chosen (docs/search.md, "Bounds").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/units.h"
#include "search/candidates.h"
#include "search/group_division.h"
#include "search/group_prices.h"
#include "simulator/held_counts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

class GroupBounds {
 public:
  // Keeps all of them by reference. `kept`: the prices in mode "none", asked for where a schedule
  // recomputes nothing on its last rank.
  GroupBounds(const ExecutorModel& executor, const CandidateGroup& group, const GroupPrices& prices,
              GroupDivision& division, SearchShared& shared,
              std::function<const GroupPrices&()> kept)
      : executor_(executor),
        group_(group),
        prices_(prices),
        division_(division),
        shared_(shared),
        kept_(std::move(kept)) {}

  // By all work, and by what all ranks must hold and for how long.
  Duration before_cuts(const Plan& plan);
  // By what each rank waits for and how many whole sections some rank has.
  Duration with_fill(const Plan& plan);
  // By the best cuts with one stage per rank if memory were no object, and the fill and drain
  // around them.
  Duration by_balanced_cuts(const Plan& plan, const std::vector<int>& balanced);
  // Micro-batches travel all the way and back, no more of them at once than the first stage holds.
  [[nodiscard]] Duration by_round_trips(const Plan& plan, const HeldCounts& held) const;

 private:
  // Of a group's schedules, one for each kind of backward; worked out when first asked for.
  static constexpr std::size_t kBackwards = static_cast<std::size_t>(BackwardKind::kMixed) + 1;
  using ByBackward = std::array<std::optional<Duration>, kBackwards>;
  template <class Make>
  static Duration once(ByBackward& known, BackwardKind backward, Make make) {
    std::optional<Duration>& one = known[static_cast<std::size_t>(backward)];
    if (!one) one = make();
    return *one;
  }

  Duration memory_bound(const ScheduleKind& kind, const Plan& plan);
  Duration mean_bound(const Plan& plan);
  [[nodiscard]] Duration mean_of_all_work(const Plan& plan) const;
  [[nodiscard]] Duration least_but_on_last_rank(const Plan& plan) const;
  [[nodiscard]] Duration slowest_with_fill(const Plan& plan,
                                           const std::vector<int>& balanced) const;
  [[nodiscard]] Duration mean_with_fill(const Plan& plan, std::int64_t full) const;
  [[nodiscard]] Duration mixed_with_fill(const Plan& plan) const;
  [[nodiscard]] Duration with_whole_sections(const std::vector<const SectionSums*>& types,
                                             const std::vector<RankRun>& runs, const Plan& plan,
                                             const std::vector<std::int64_t>& waits,
                                             std::int64_t known) const;

  const ExecutorModel& executor_;
  const CandidateGroup& group_;
  const GroupPrices& prices_;
  GroupDivision& division_;
  SearchShared& shared_;
  std::function<const GroupPrices&()> kept_;
  ByBackward means_, means_but_on_last_, fills_, balanced_;
  // By kind of backward, copies of the weights, and whether as needed.
  std::map<std::tuple<BackwardKind, int, bool>, std::optional<Duration>> memory_bounds_;
};

}  // namespace penstock
