// To arrange a schedule for one plan costs far more than to bound it, so that is the last thing
// done. Cuts come from what a static stand-in of the same placement holds; then the plan is
// bounded by its work, fill and drain within its memory. Sound: the bound is of any order that
// fits, so what it drops cannot win. What passes waits in `arranged` until the static schedules
// have set a time to beat, unless the question names the schedule.
#include "search/group_arranged.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/values/rule_facts.h"
#include "search/arrange.h"
#include "search/arrange_within.h"
#include "search/choose_cuts.h"
#include "search/host_room.h"
#include "search/lower_bound.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"

namespace penstock {

void GroupArranged::run(const ScheduleKind& kind, Plan& plan, const std::vector<int>& balanced) {
  const Plan stand_in = with_stand_in(plan);
  PlanCounts counts(stand_in, &work_.shared.schedules);
  // A run-time rule's own replay judges what it holds; its stand-in tells which cuts to take.
  const auto held = kind.rule != RunTimeRule::kNone ? work_.exactly_held(stand_in, counts)
                                                    : work_.least_held(stand_in, counts);
  RankSums sums = work_.prices.sums();
  std::vector<int> best = balanced;
  if (facts_of(kind.rule).last_rank_keeps) {
    const GroupPrices& kept = work_.prices_of_kept();
    if (!kept.why_not().empty()) {
      work_.result.rejected.add(
          kept.why_not(),
          static_cast<std::int64_t>(work_.shardings.size() * work_.placements.size()), plan);
      return;
    }
    sums = last_rank_keeps(sums, kept.sums(), plan.pipeline);
    best = balanced_cuts(sums, plan, work_.backward).value_or(balanced);
  }
  for (const ShardingChoice& choice : work_.shardings) {
    set_sharding(choice, plan);
    std::string why = why_no_sharding(kind, plan);
    if (why.empty()) why = why_no_offload(work_.inputs, plan);
    if (!why.empty()) {
      work_.result.rejected.add(why, static_cast<std::int64_t>(work_.placements.size()), plan);
      continue;
    }
    Cuts cuts = choose_cuts(sums, work_.memory_of(sums, plan, *held), plan, work_.backward, best);
    plan.cuts = best;
    if (!cuts.cuts.empty()) plan.cuts = std::move(cuts.cuts);
    if (work_.change_for_trainer(plan) == GroupWork::Change::kImpossible) {
      work_.result.rejected.add(work_.trainer_why_not,
                                static_cast<std::int64_t>(work_.placements.size()), plan);
      continue;
    }
    const Duration by_compute =
        compute_bound(sums, plan, work_.backward, HeldCounts{}, work_.inputs.executor);
    const bool loses =
        !facts_of(kind.rule).recomputes_early && !work_.may_be_worth_arranging(by_compute);
    for (const Placement placement : work_.placements) {
      plan.placement = placement;
      if (work_.may_be_worth_arranging(work_.any_cuts)) {
        work_.add_contender(Contender{plan, by_compute, work_.any_cuts});
      }
      if (loses || loses_at_its_end(kind, sums, plan)) {
        ++work_.result.bounded;
      } else {
        try_candidate(kind, plan);
      }
    }
  }
}

// Before it is priced: by its compute, its transfers and what its first stage does at the end of
// the step.
bool GroupArranged::loses_at_its_end(const ScheduleKind& kind, const RankSums& sums,
                                     const Plan& plan) {
  if (!work_.request.bounds || facts_of(kind.rule).recomputes_early) return false;
  const Duration bound = end_bound(sums, plan, work_.backward, HeldCounts{}, work_.inputs.executor,
                                   work_.wired_times_of(plan));
  return !work_.may_be_worth_arranging(bound);
}

void GroupArranged::try_candidate(const ScheduleKind& kind, const Plan& plan) {
  std::optional<StagePricing> own;
  if (facts_of(kind.rule).last_rank_keeps) {
    const DividedTables kept_on_last(work_.prices.tables(), work_.prices_of_kept().tables(), plan);
    own = price_stages(*work_.inputs.profile, *work_.wiring_of(plan), plan, kept_on_last.tables(),
                       kind.splits_backward());
  }
  const StagePricing& pricing = own ? *own : work_.pricing_of(plan);
  HeldCounts most;
  std::vector<std::int64_t> room;
  if (kind.is_automatic() && kind.limit_in_ranks == 0) {
    room =
        room_for_activations(plan, pricing.prices, work_.prices.reserve(), work_.prices.memory());
    if (!holds_one_of_each(plan, pricing.prices, room)) {
      work_.result.rejected.add(no_arrangement_fits(plan), 1, plan);
      return;
    }
    most = most_held_within(plan, pricing.prices, room);
  }
  const bool is_bounded = !facts_of(kind.rule).recomputes_early;
  const Duration bound =
      is_bounded ? step_bound(pricing.prices, plan, work_.backward, most, work_.inputs.executor,
                              facts_of(kind.rule).last_rank_keeps, room)
                 : work_.any_cuts;
  if (!work_.may_be_worth_arranging(bound)) {
    ++work_.result.bounded;
    return;
  }
  // Unless they were asked for, the others tell which of these are worth working out.
  if (work_.request.pins.schedules.empty()) {
    work_.result.arranged.push_back({plan, bound});
    return;
  }
  const ArrangedOutcome outcome = replay_arranged(work_.inputs, plan);
  if (outcome.why_not) {
    work_.result.rejected.add(*outcome.why_not, 1, plan);
  } else {
    work_.add_found(outcome.found);
  }
}

}  // namespace penstock
