#include "search/arranged_replay.h"

#include <algorithm>
#include <utility>

#include "costmodel/price_stages.h"
#include "search/arrange_within.h"
#include "search/evaluation.h"
#include "search/host_room.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "simulator/merge_liveness.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

ArrangedOutcome replay_evaluated(const PlanInputs& inputs, const Plan& plan) {
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.why_not) return {evaluated.why_not, {}, false};
  return {std::nullopt,
          {evaluated.plan, evaluated.evaluation.step_time, evaluated.evaluation.peak_memory()}};
}

// On its schedule alone where that tells what it does, else on its Program.
ArrangedOutcome replay_rule(const PlanInputs& inputs, const PreparedPlan& prepared,
                            const PricedSections& sections, const Plan& plan) {
  const StagePricing pricing = price_stages(*inputs.profile, sections.wiring, plan, sections.tables,
                                            prepared.kind->splits_backward());
  ReplayBuffers buffers;
  const PlanSchedules schedules = schedules_of(plan);
  auto simulated = simulate_by_rule(
      schedules.pipelines, lowering_of(plan, pricing.ties, sections.recomputes, inputs.executor),
      pricing.prices, inputs.executor, buffers, static_cast<int>(schedules.pipelines.size()));
  if (!simulated) return replay_evaluated(inputs, plan);
  auto memory = memory_of_ranks(
      pricing.prices,
      merged_liveness(std::move(simulated->held), static_cast<std::size_t>(plan.listed_ranks())),
      prepared.devices.reserve(), listed_ranks(plan).shapes);
  if (pricing.prices.shapes > 1) set_stash(simulated->stash, memory);
  auto why_not = over_memory(memory, plan, prepared.devices.memory());
  if (!why_not) why_not = over_host_memory(inputs, plan, pricing.prices);
  if (why_not) return {std::move(why_not), {}};
  Bytes fullest;
  for (const MemoryUse& use : memory) fullest = std::max(fullest, use.total());
  return {std::nullopt, {plan, step_time_of(simulated->summary, inputs.executor), fullest}};
}

}  // namespace

Rejection no_arrangement_fits(const Plan& plan) {
  return {plan.schedule + ": no arrangement fits the memory that is left for activations", 1,
          std::nullopt, std::nullopt, ""};
}

ArrangedOutcome replay_arranged(const PlanInputs& inputs, const Plan& plan, Duration slowest) {
  if (plan.cuts.empty() && !find_schedule(plan.schedule)->is_automatic()) {
    return replay_evaluated(inputs, plan);
  }
  const PreparedPlan prepared = prepare(inputs, plan);
  if (prepared.why_not) return {prepared.why_not, {}};
  const PlanWiring wiring(*inputs.cluster, prepared.plan);
  const RankTables tables = prepared.sums.tables();
  return replay_arranged(inputs, prepared, {wiring, tables, prepared.sums.recomputes()},
                         prepared.plan, slowest);
}

ArrangedOutcome replay_arranged(const PlanInputs& inputs, const PreparedPlan& prepared,
                                const PricedSections& sections, const Plan& plan,
                                Duration slowest) {
  if (!prepared.kind->is_automatic()) return replay_rule(inputs, prepared, sections, plan);
  const bool recomputes = sections.recomputes;
  const StagePricing pricing = price_stages(*inputs.profile, sections.wiring, plan, sections.tables,
                                            prepared.kind->splits_backward());
  const ArrangedWithin within =
      arrange_within(inputs, plan, pricing.prices, pricing.ties, recomputes,
                     prepared.devices.reserve(), prepared.devices.memory(), slowest);
  if (within.arranged.is_beaten) return {std::nullopt, {}, true};
  if (!within.arranged.why_not.empty()) return {no_arrangement_fits(plan), {}};
  if (within.why_not) return {within.why_not, {}};
  const auto summary =
      summary_of(within.arranged, lowering_of(plan, pricing.ties, recomputes, inputs.executor),
                 pricing.prices, inputs.executor);
  if (!summary) {
    return {Rejection{"its transfers deadlock under executor model '" + inputs.executor.name + "'",
                      1, std::nullopt, std::nullopt, ""},
            {}};
  }
  return {std::nullopt, {plan, step_time_of(*summary, inputs.executor), within.fullest}};
}

}  // namespace penstock
