// The first construction finds out how the plan can be replayed: cheaply, from tables of section
// prices with the straight replay, where order and kept sections do not depend on the cuts; with a
// divided recompute that is fitted to every try; or by a whole evaluation, for automatic schedules
// and rules of run time. Each run returns step and memory, or nothing where a rank would be over
// its memory; the cheap way can also tell the chain that bounds the step (exact: a change of any
// section on it changes the step).
#include "search/cut_replay.h"

#include <algorithm>
#include <utility>

#include "core/values/recompute_sections.h"
#include "core/values/rule_facts.h"
#include "search/arrange.h"
#include "search/arranged_replay.h"
#include "search/divided_tables.h"
#include "search/evaluation.h"
#include "search/host_room.h"
#include "search/lower_bound.h"
#include "search/memory.h"
#include "search/steady_plan.h"
#include "simulator/simulate.h"

namespace penstock {

namespace {

Plan with_one_mode(Plan plan) {
  plan.recompute_sections.clear();
  if (last_rank_keeps(plan)) plan.cuts.clear();  // others may keep other sections
  return plan;
}

}  // namespace

CutReplay::CutReplay(const PlanInputs& inputs, const Plan& plan, RecomputeRule rule)
    : inputs_(inputs),
      prepared_(prepare(inputs, with_one_mode(plan))),
      ties_of_model_(*inputs.profile, prepared_.plan.tensor),
      with_cuts_(prepared_.plan),
      programs_(inputs.executor) {
  if (prepared_.why_not) return;
  has_rule_ = prepared_.kind->rule != RunTimeRule::kNone;
  is_cheap_ = !prepared_.kind->is_automatic() && !has_rule_;
  sums_ = prepared_.sums.full_size();
  if (facts_of(prepared_.kind->rule).last_rank_keeps) {
    kept_.emplace(*inputs.profile, prepared_.devices, keeping(prepared_.plan));
    if (!kept_->why_not().empty()) {
      prepared_.why_not = Rejection{kept_->why_not(), 1, std::nullopt, std::nullopt, ""};
      return;
    }
    sums_of_last_ = last_rank_keeps(*sums_, kept_->full_size(), prepared_.plan.pipeline);
  }
  tables_ = prepared_.sums.tables();
  recomputes_ = prepared_.sums.recomputes();
  capacity_ = prepared_.devices.memory();
  reserve_ = prepared_.devices.reserve();
  held_ = exactly_held_of(with_stand_in(prepared_.plan));
  if (is_cheap_ || !prepared_.plan.has_unequal_replicas()) {
    wiring_.emplace(*inputs.cluster, prepared_.plan);
  }
  if (!is_cheap_) return;
  schedules_ = schedules_of(prepared_.plan);
  for (RolledInput& pipeline : schedules_.pipelines) pipeline.steps = kept_steps(pipeline);
  if (!recompute_is_divided(plan) || !can_divide_recompute(*prepared_.kind)) {
    memory_.emplace(*sums_, ties_of_model_, ShardedState(inputs.profile->training, plan), held_,
                    reserve_, capacity_, short_last_of(prepared_));
    memory_->remember_states();
    return;
  }
  recompute_.emplace(inputs, prepared_, held_, rule);
  if (recompute_->is_possible()) {
    sums_ = recompute_->kept();
  } else {
    recompute_.reset();
  }
}

std::optional<CutReplay::Result> CutReplay::run(const std::vector<int>& cuts, Tells tells,
                                                Duration slowest) {
  if (prepared_.why_not) return std::nullopt;
  with_cuts_.cuts = cuts;
  if (recompute_) return run_divided(tells, slowest);
  return is_cheap_ ? run_priced(tables_, recomputes_, tells, slowest) : run_evaluated();
}

bool CutReplay::knows_chains() const {
  return is_cheap_ && !recompute_ && can_simulate_schedule(inputs_.executor);
}

// The rank that was over its memory the last time is often over it again.
bool CutReplay::may_fit(const std::vector<int>& cuts) {
  if (!memory_) return true;
  const int ranks = prepared_.plan.pipeline;
  for (int i = 0; i < ranks; ++i) {
    const int rank = (over_last_ + i) % ranks;
    if (memory_->total_of_rank(static_cast<std::size_t>(rank), cuts) <= capacity_[rank]) continue;
    over_last_ = rank;
    return false;
  }
  return true;
}

Plan CutReplay::with(const std::vector<int>& cuts) const {
  Plan plan = prepared_.plan;
  plan.cuts = cuts;
  if (recompute_) recompute_->divide(plan);
  return plan;
}

std::optional<CutReplay::Result> CutReplay::run_divided(Tells tells, Duration slowest) {
  if (!recompute_->divide(with_cuts_)) return std::nullopt;
  const DividedTables divided = recompute_->tables_of(with_cuts_, tables_);
  return run_priced(divided.tables(), divided.recomputes(), tells, slowest);
}

std::optional<CutReplay::Result> CutReplay::run_priced(const RankTables& tables, bool recomputes,
                                                       Tells tells, Duration slowest) {
  const StagePricing pricing = price_stages(*inputs_.profile, *wiring_, with_cuts_, tables,
                                            prepared_.kind->splits_backward());
  if (over_host_memory(inputs_, with_cuts_, pricing.prices)) return std::nullopt;
  auto memory = memory_of_ranks(pricing.prices, held_, reserve_);
  if (pricing.prices.shapes > 1) {
    set_stash(stash_of(schedules_.pipelines, pricing.prices), memory);
  }
  Bytes fullest;
  for (std::size_t r = 0; r < memory.size(); ++r) {
    const Bytes total = memory[r].total();
    if (total > capacity_[static_cast<int>(r)]) return std::nullopt;
    fullest = std::max(fullest, total);
  }
  if (slowest < Duration::max() && step_bound(pricing.prices, with_cuts_, prepared_.kind->backward,
                                              held_, inputs_.executor) > slowest) {
    return std::nullopt;
  }
  auto replay = replayed(pricing, recomputes, tells);
  if (!replay) return std::nullopt;
  return Result{step_time_of(replay->summary, inputs_.executor), fullest,
                std::move(replay->on_chain)};
}

std::optional<TracedSimulation> CutReplay::replayed(const StagePricing& pricing, bool recomputes,
                                                    Tells tells) {
  const auto lowering = [&] {
    return lowering_of(with_cuts_, pricing.ties, recomputes, inputs_.executor);
  };
  if (can_simulate_schedule(inputs_.executor)) {
    if (tells == Tells::kChain) {
      return simulate_schedule_traced(schedules_.pipelines, lowering(), pricing.prices,
                                      inputs_.executor, buffers_);
    }
    return TracedSimulation{simulate_schedule(schedules_.pipelines, lowering(), pricing.prices,
                                              inputs_.executor, buffers_),
                            {}};
  }
  if (const auto steady = steady_summary(with_cuts_, pricing.ties, recomputes, pricing.prices,
                                         inputs_.executor, programs_)) {
    if (steady->deadlocks) return std::nullopt;
    return TracedSimulation{steady->summary, {}};
  }
  if (!program_ || pricing.ties != ties_ || recomputes != program_recomputes_) {
    program_ = program_of(schedules_, lowering());
    ties_ = pricing.ties;
    program_recomputes_ = recomputes;
  }
  // Only receives that were moved back can cross sends (docs/schedules.md, "Time").
  const bool may_deadlock = inputs_.executor.issue == IssueOrder::kDeepSpeed;
  if (may_deadlock && deadlock(*program_, inputs_.executor)) return std::nullopt;
  return TracedSimulation{simulate_summary(*program_, pricing.prices, inputs_.executor), {}};
}

std::optional<CutReplay::Result> CutReplay::run_evaluated() {
  const ArrangedOutcome outcome = arranged();
  if (outcome.why_not) return std::nullopt;
  return Result{outcome.found.step_time, outcome.found.memory};
}

// Of replicas that are alike neither devices nor sections are priced anew.
ArrangedOutcome CutReplay::arranged() const {
  if (!wiring_) return replay_arranged(inputs_, with_cuts_);
  if (!kept_)
    return replay_arranged(inputs_, prepared_, {*wiring_, tables_, recomputes_}, with_cuts_);
  const DividedTables kept_on_last(tables_, kept_->tables(), with_cuts_);
  if (!kept_on_last.recomputes()) return replay_arranged(inputs_, with_cuts_);  // it says why not
  return replay_arranged(inputs_, prepared_,
                         {*wiring_, kept_on_last.tables(), kept_on_last.recomputes()}, with_cuts_);
}

Duration CutReplay::bound(const std::vector<int>& cuts) {
  with_cuts_.cuts = cuts;
  if (facts_of(prepared_.kind->rule).recomputes_early) return {};  // see step_bound()
  return compute_bound(sums_of_work(), with_cuts_, prepared_.kind->backward,
                       is_cheap_ ? held_ : HeldCounts{}, inputs_.executor);
}

std::vector<std::int64_t> CutReplay::rank_work(const std::vector<int>& cuts) const {
  const Plan& plan = prepared_.plan;
  std::vector<std::int64_t> work(static_cast<std::size_t>(plan.pipeline), 0);
  const RankSums sums = sums_of_work();
  for (int s = 0; s < plan.stages(); ++s) {
    const auto rank = static_cast<std::size_t>(plan.rank_of(s));
    const auto first = static_cast<std::size_t>(s % plan.stages_per_copy());
    const auto& prefix = sums[plan.rank_of(s)].work_of(prepared_.kind->backward);
    work[rank] += prefix[static_cast<std::size_t>(cuts[first + 1])] -
                  prefix[static_cast<std::size_t>(cuts[first])];
  }
  if (recompute_) {
    const std::vector<std::int64_t> added = recompute_->added_work(with(cuts));
    for (std::size_t rank = 0; rank < work.size(); ++rank) work[rank] += added[rank];
  }
  return work;
}

}  // namespace penstock
