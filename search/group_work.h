// What the parts of the search of one group share: its prices and bounds, what is known to be fast,
// and what has been found.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "costmodel/price_stages.h"
#include "costmodel/step_prices.h"
#include "search/group_bounds.h"
#include "search/group_division.h"
#include "search/group_prices.h"
#include "search/group_search.h"
#include "search/memory.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

inline constexpr Bytes kNoMemory{};

struct GroupWork {
  // Keeps all of them by reference.
  GroupWork(const PlanInputs& of_inputs, const SearchRequest& of_request,
            const SearchSpace& of_space, const CandidateGroup& of_group, const KnownPlans& known,
            SearchShared& of_shared);
  GroupWork(const GroupWork&) = delete;
  GroupWork& operator=(const GroupWork&) = delete;

  // Begins with the next schedule.
  void begin(const ScheduleKind& kind);

  // Whether a candidate that takes no less, and holds no less, may be kept.
  [[nodiscard]] bool may_matter(Duration bound, Bytes memory) const;
  // Whether it may be the fastest.
  [[nodiscard]] bool may_lead(Duration bound) const;
  // Unless it was asked for by name, only if it may be the fastest.
  [[nodiscard]] bool may_be_worth_arranging(Duration bound) const;
  // With what this group found.
  [[nodiscard]] const Incumbents& incumbents() const { return own_ ? *own_ : known_; }

  void add_found(const Found& found);
  // Other cuts may make it the fastest of all.
  void add_contender(const Plan& plan);
  // In each placement.
  void add_contenders(Plan plan);
  void add_contender(Contender contender);
  // Whether a contender of this schedule would be kept, that takes no less with its cuts.
  [[nodiscard]] bool may_be_contender(Duration step_time) const;
  // The slowest one; none is when there is less than no time.
  [[nodiscard]] Duration slowest_contender() const;
  // Other cuts than those that were given may fit and be faster, but not than any cuts.
  void note_possible();
  // Less what other cuts than the balanced ones gain at most.
  static Duration less_by_cuts(Duration bound);

  // Whether or not it is replayed, so that contenders are in one order.
  [[nodiscard]] Duration by_compute(const Plan& plan) const;
  // Of mode "none", or divided.
  [[nodiscard]] Duration by_compute_of_form(const Plan& plan);
  // And by what its first stage does at the end of the step, of one without divided recompute by
  // its transfers, too; nothing where that is not known.
  [[nodiscard]] Duration by_its_end(const Plan& plan);
  // The same by what it holds, too; by compute alone where no more is known.
  [[nodiscard]] Duration by_wires(const Plan& plan, const HeldCounts& held);

  [[nodiscard]] StageMemory memory_of(const Plan& plan, const HeldCounts& held) const;
  [[nodiscard]] StageMemory memory_of(const Plan& plan, const HeldCounts& held,
                                      const PerRank<Bytes>& capacity) const;
  // By other sums than the group's; all micro-batches count as full.
  [[nodiscard]] StageMemory memory_of(const RankSums& sums, const Plan& plan,
                                      const HeldCounts& held) const;

  // `counts`: of the plan.
  [[nodiscard]] std::shared_ptr<const HeldCounts> least_held(const Plan& plan,
                                                             PlanCounts& counts) const;
  [[nodiscard]] std::shared_ptr<const HeldCounts> exactly_held(const Plan& plan,
                                                               PlanCounts& counts) const;
  const std::vector<int>& balanced_cuts_of(const Plan& plan);
  std::shared_ptr<const PlanWiring> wiring_of(const Plan& plan);
  // Of a plan with cuts; worked out before all of its stages are wired and priced.
  std::shared_ptr<const PlanWiring> first_stage_of(const Plan& plan);
  WiredTimes wired_times_of(const Plan& plan);
  // Of a plan whose sections all recompute as the group's, or all keep their activations. Kept for
  // the schedules that divide the model alike: stays as long as the group.
  const StagePricing& pricing_of(const Plan& plan);
  // Of mode "none", for ranks that recompute nothing.
  const GroupPrices& prices_of_kept();

  // Gives the plan the nearest cuts and recompute that the trainer's files can say. What it holds
  // and takes is then another. Impossible: trainer_why_not says why.
  enum class Change { kNone, kMoved, kImpossible };
  Change change_for_trainer(Plan& plan);

  // Of a plan whose ranks hold so much if all micro-batches are full: where that does not fit and
  // one is short, `memory` becomes what they hold.
  std::optional<Rejection> over_memory_as_held(const Plan& plan, const StagePrices& stages,
                                               std::vector<MemoryUse>& memory);
  // Nothing when transfers deadlock.
  std::optional<TimelineSummary> simulated(const Plan& plan, const StagePricing& pricing,
                                           bool recomputes);

  const PlanInputs& inputs;
  const SearchRequest& request;
  const SearchSpace& space;
  const CandidateGroup& group;
  const SearchKey& key;
  SearchShared& shared;
  const Plan base;
  const GroupPrices prices;
  GroupDivision division;
  GroupBounds bounds;
  const TiedParameters ties;
  const ShortLast short_last;  // none on several types
  const std::vector<ShardingChoice> shardings;
  const std::vector<Placement> placements;
  BackwardKind backward = BackwardKind::kFused;  // of the schedule at hand
  Duration any_cuts{};                           // what no cuts of the schedule at hand beat
  bool over_memory = false;                      // it did not fit with less state (sharding)
  std::string trainer_why_not;                   // of the last plan that it could not run
  GroupResult result;

 private:
  const PlanSchedules& schedules(const Plan& plan);

  const Incumbents& known_;
  const Duration slowest_contender_;  // that is kept
  std::optional<Incumbents> own_;     // known_ and what this group found, once it found something
  std::unique_ptr<GroupPrices> kept_prices_;  // once they are asked for
  // Of this group's, those of (V, map of stages, backward): the shared ones are many.
  std::map<std::tuple<int, StageMap, BackwardKind>, std::shared_ptr<const std::vector<int>>>
      balanced_;
  // Of plans with these cuts, V, map of stages, group, placement, sharding (ZeRO-1, its kind, group
  // of shards, optimizer on the host), and whether backwards are split.
  using PricedPlan =
      std::tuple<std::vector<int>, int, StageMap, int, Placement, bool, Sharding, int, bool, bool>;
  std::map<PricedPlan, StagePricing> pricings_;
  std::optional<PlanSchedules> schedules_;  // of the schedule at hand
  ReplayBuffers replay_buffers_;
  std::vector<std::string> section_names_;  // once they are asked for
};

}  // namespace penstock
