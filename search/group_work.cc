// What the parts of the search of one group share (group_search.cc, group_forms.cc,
// group_arranged.cc). A bound is held against the incumbents that were known when the group was
// taken up and what the group itself has found since: nothing else, so that its result does not
// depend on other threads. What is asked for again and again (cuts, counts, wirings) lies in
// SearchShared, by keys that say all it depends on.
#include "search/group_work.h"

#include <algorithm>
#include <utility>

#include "core/values/recompute_sections.h"
#include "costmodel/transfer_prices.h"
#include "search/choose_cuts.h"
#include "search/end_bound.h"
#include "search/evaluation.h"
#include "search/host_room.h"
#include "search/lower_bound.h"
#include "search/prepared_plan.h"
#include "search/steady_plan.h"
#include "search/trainer_plans.h"

namespace penstock {
namespace {

// What other cuts than the balanced ones gain at most, as a divisor of the step.
constexpr int kGainOfCuts = 64;

SearchShared::CountsKey counts_key(const Plan& plan, int counted_of_fewer) {
  return {find_schedule(plan.schedule) - schedule_kinds().data(),
          plan.pipeline,
          plan.chunks,
          plan.group,
          counted_micro_batches(plan),
          counted_of_fewer};
}

ShortLast short_last_of(const GroupPrices& prices, const Plan& plan) {
  const ReplicaLoad load = first_load(plan);
  if (load.rest == 0 || plan.is_mixed() || !prices.why_not().empty()) return {};
  return {prices.shape_of(load.rest), load.micro_batches};
}

// Only receives that were moved back can cross sends (docs/schedules.md, "Time").
bool may_deadlock(const ExecutorModel& executor) {
  return executor.issue == IssueOrder::kDeepSpeed;
}

}  // namespace

GroupWork::GroupWork(const PlanInputs& of_inputs, const SearchRequest& of_request,
                     const SearchSpace& of_space, const CandidateGroup& of_group,
                     const KnownPlans& known, SearchShared& of_shared)
    : inputs(of_inputs),
      request(of_request),
      space(of_space),
      group(of_group),
      key(space.keys[static_cast<std::size_t>(group.key)]),
      shared(of_shared),
      base(plan_of(space, request, group)),
      prices(inputs, space, group, base, shared),
      division(inputs, request, space, group, base, shared),
      bounds(inputs.executor, group, prices, division, shared,
             [this]() -> const GroupPrices& { return prices_of_kept(); }),
      ties(*inputs.profile, key.tensor),
      short_last(short_last_of(prices, base)),
      shardings(shardings_of_key(space, request, group.key, group.pipeline, group.data)),
      placements(placement_choices(request, key, group.pipeline, group.data)),
      known_(known.incumbents),
      slowest_contender_(group.chunks == ChunkRange::kMore ? known.slowest_of_more_chunks
                                                           : known.slowest_contender) {}

void GroupWork::begin(const ScheduleKind& kind) {
  backward = kind.backward;
  any_cuts = {};
  schedules_.reset();
}

Duration GroupWork::by_compute(const Plan& plan) const {
  return compute_bound(prices.sums(), plan, backward, HeldCounts{}, inputs.executor);
}

Duration GroupWork::by_compute_of_form(const Plan& plan) {
  return division.bound_of(plan, prices.sums(), HeldCounts{});
}

// Compute alone says little where links are slow, and contenders are too many to try all of them.
Duration GroupWork::by_its_end(const Plan& plan) {
  if (plan.is_mixed() || last_rank_keeps(plan)) return {};
  if (!recompute_is_divided(plan)) return by_wires(plan, HeldCounts{});
  // Without transfers they come before others. With them 64 GPUs took 40 % longer for the same
  // plans: fewer of those that were tried first could be given up early.
  const FirstStageEnd end = first_stage_end(*inputs.profile, *first_stage_of(plan), plan);
  return division.bound_of(plan, prices.sums(), HeldCounts{}, {end, {}});
}

Duration GroupWork::by_wires(const Plan& plan, const HeldCounts& held) {
  const WiredTimes wired = wired_times_of(plan);
  if (recompute_is_divided(plan)) return division.bound_of(plan, prices.sums(), held, wired);
  return end_bound(prices.sums(), plan, backward, held, inputs.executor, wired);
}

void GroupWork::add_contender(const Plan& plan) {
  add_contender(Contender{plan, by_compute(plan), any_cuts});
}
void GroupWork::add_contenders(Plan plan) {
  Contender contender{std::move(plan), {}, any_cuts};
  contender.step_time = by_compute(contender.plan);
  for (const Placement placement : placements) {
    contender.plan.placement = placement;
    add_contender(contender);
  }
}

Duration GroupWork::slowest_contender() const {
  return may_lead(any_cuts) ? slowest_contender_ : Duration{-1};
}

bool GroupWork::may_be_contender(Duration step_time) const {
  if (step_time > slowest_contender_ || !may_lead(any_cuts)) return false;
  return group.chunks != ChunkRange::kMore || may_lead(less_by_cuts(step_time));
}

void GroupWork::add_contender(Contender contender) {
  if (contender.plan.pipeline < 2) return;  // nothing to cut
  if (group.chunks == ChunkRange::kMore) {
    contender.bound = std::max(contender.bound, less_by_cuts(contender.step_time));
  }
  if (!may_lead(contender.bound) || incumbents().is_beyond_limit(contender.bound)) return;
  // Slower than all that are kept by now is slower than all that will be; its end is asked only of
  // the others.
  const auto is_too_slow = [&] { return contender.step_time > slowest_contender_; };
  if (!is_too_slow())
    contender.step_time = std::max(contender.step_time, by_its_end(contender.plan));
  if (is_too_slow()) {
    ++result.too_slow_contenders;
  } else {
    result.contenders.push_back(std::move(contender));
  }
}

void GroupWork::add_found(const Found& found) {
  if (!own_) own_ = known_;
  if (result.only_leaders_count) {
    own_->add_if_it_leads(found, request.sizes.size());
  } else {
    own_->add(found);
  }
  result.found.push_back(found);
}

void GroupWork::note_possible() {
  result.least_possible = std::min(result.least_possible, any_cuts);
}

Duration GroupWork::less_by_cuts(Duration bound) { return bound - bound / kGainOfCuts; }

StageMemory GroupWork::memory_of(const Plan& plan, const HeldCounts& held) const {
  return memory_of(plan, held, prices.memory());
}
StageMemory GroupWork::memory_of(const Plan& plan, const HeldCounts& held,
                                 const PerRank<Bytes>& capacity) const {
  return {prices.sums(), ties,      {inputs.profile->training, plan}, held, prices.reserve(),
          capacity,      short_last};
}
StageMemory GroupWork::memory_of(const RankSums& sums, const Plan& plan,
                                 const HeldCounts& held) const {
  return {sums, ties, {inputs.profile->training, plan}, held, prices.reserve(), prices.memory()};
}

std::shared_ptr<const HeldCounts> GroupWork::least_held(const Plan& plan,
                                                        PlanCounts& counts) const {
  return shared.held_at_least.get(counts_key(plan, 0), [&] { return counts.least(); });
}

std::shared_ptr<const HeldCounts> GroupWork::exactly_held(const Plan& plan,
                                                          PlanCounts& counts) const {
  return shared.held.get(counts_key(plan, counted_of_fewer(plan)), [&] { return counts.exact(); });
}

// On one type they serve all schedules of a map.
const std::vector<int>& GroupWork::balanced_cuts_of(const Plan& plan) {
  auto& known = balanced_[{plan.chunks, plan.stage_map, backward}];
  if (known) return *known;
  const auto cuts = [&] { return balanced_cuts(prices.sums(), plan, backward).value(); };
  const int largest = prices.samples().front();
  if (plan.is_mixed()) {
    known = shared.mixed_balanced.get({group.mixed, largest, plan.chunks, plan.stage_map, backward},
                                      cuts);
  } else {
    known = shared.balanced.get(
        {group.key, largest, plan.pipeline, plan.chunks, plan.stage_map, backward}, cuts);
  }
  return *known;
}

std::shared_ptr<const PlanWiring> GroupWork::wiring_of(const Plan& plan) {
  const auto wiring = [&] { return PlanWiring(*inputs.cluster, plan); };
  if (plan.is_mixed()) {
    return shared.mixed_wirings.get({plan.rank_devices, plan.data, plan.tensor, plan.shard_group,
                                     plan.placement, plan.stage_map},
                                    wiring);
  }
  return shared.wirings.get(
      {key.device, plan.pipeline, plan.data, plan.tensor, plan.other_degrees(), plan.shard_group,
       plan.placement, plan.stage_map},
      wiring);
}

// On one device type.
std::shared_ptr<const PlanWiring> GroupWork::first_stage_of(const Plan& plan) {
  return shared.first_stages.get(
      {key.device, plan.pipeline, plan.data, plan.tensor, plan.other_degrees(), plan.shard_group,
       plan.placement, plan.stage_map},
      [&] { return PlanWiring(*inputs.cluster, plan, WiredStages::kFirst); });
}

WiredTimes GroupWork::wired_times_of(const Plan& plan) {
  if (plan.is_mixed()) return {};
  const auto wiring = first_stage_of(plan);
  return {first_stage_end(*inputs.profile, *wiring, plan),
          transfer_prices(*wiring, plan, prices.sums()[0].boundary)};
}

const StagePricing& GroupWork::pricing_of(const Plan& plan) {
  const bool splits = backward != BackwardKind::kFused;
  PricedPlan asked{plan.cuts,     plan.chunks,      plan.stage_map,
                   plan.group,    plan.placement,   plan.zero1,
                   plan.sharding, plan.shard_group, plan.offload_optimizer,
                   splits};
  const auto known = pricings_.find(asked);
  if (known != pricings_.end()) return known->second;
  return pricings_
      .try_emplace(std::move(asked),
                   price_stages(*inputs.profile, *wiring_of(plan), plan, prices.tables(), splits))
      .first->second;
}

const GroupPrices& GroupWork::prices_of_kept() {
  if (!kept_prices_) {
    kept_prices_ = std::make_unique<GroupPrices>(inputs, space, group, keeping(base), shared);
  }
  return *kept_prices_;
}

GroupWork::Change GroupWork::change_for_trainer(Plan& plan) {
  if (request.trainer == nullptr) return Change::kNone;
  if (section_names_.empty()) section_names_ = names_of_sections(*inputs.profile);
  auto moved = as_run_by(*request.trainer, plan, section_names_, trainer_why_not);
  if (!moved) return Change::kImpossible;
  if (*moved == plan) return Change::kNone;
  plan = std::move(*moved);
  return Change::kMoved;
}

const PlanSchedules& GroupWork::schedules(const Plan& plan) {
  if (!schedules_) schedules_ = schedules_of(plan, &shared.schedules);
  return *schedules_;
}

std::optional<Rejection> GroupWork::over_memory_as_held(const Plan& plan, const StagePrices& stages,
                                                        std::vector<MemoryUse>& memory) {
  auto over = penstock::over_memory(memory, plan, prices.memory());
  if (!over) return over_host_memory(inputs, plan, stages);
  if (stages.shapes == 1) return over;
  set_stash(stash_of(schedules(plan).pipelines, stages), memory);
  over = penstock::over_memory(memory, plan, prices.memory());
  return over ? over : over_host_memory(inputs, plan, stages);
}

std::optional<TimelineSummary> GroupWork::simulated(const Plan& plan, const StagePricing& pricing,
                                                    bool recomputes) {
  if (can_simulate_schedule(inputs.executor)) {
    return simulate_schedule(schedules(plan).pipelines,
                             lowering_of(plan, pricing.ties, recomputes, inputs.executor),
                             pricing.prices, inputs.executor, replay_buffers_);
  }
  if (const auto steady = steady_summary(plan, pricing.ties, recomputes, pricing.prices,
                                         inputs.executor, shared.programs)) {
    if (steady->deadlocks) return std::nullopt;
    return steady->summary;
  }
  const auto program = shared.programs.get(plan, pricing.ties, recomputes);
  if (may_deadlock(inputs.executor) && deadlock(*program, inputs.executor)) return std::nullopt;
  return simulate_summary(*program, pricing.prices, inputs.executor);
}

bool GroupWork::may_be_worth_arranging(Duration bound) const {
  if (!request.pins.schedules.empty()) return may_matter(bound, kNoMemory);
  return !request.bounds || may_lead(bound);
}

bool GroupWork::may_lead(Duration bound) const {
  return incumbents().may_lead(bound, group.devices, request.sizes.size());
}

bool GroupWork::may_matter(Duration bound, Bytes memory) const {
  if (request.bounds && group.chunks == ChunkRange::kMore) {
    return incumbents().may_lead(bound, group.devices, request.sizes.size());
  }
  return !request.bounds ||
         incumbents().may_matter(bound, group.devices, std::max(memory, group.least_memory));
}

}  // namespace penstock
