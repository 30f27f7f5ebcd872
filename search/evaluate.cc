// The one way from a plan to its figures, which the search, the verbs and the tests share:
// prepare() says whether it can run, cuts are chosen if none are given, the cost model prices the
// stages, the schedule is made (automatic ones within the memory left), memory is summed, and the
// schedule is replayed, rolled up where that is exact. evaluate_in_full() also writes the Program
// out and attributes idle time.
//
// Invariant: both give the same step time and memory, to the nanosecond and byte; why_not is set as
// soon as something does not fit, and what follows is then left out or said to be over.
#include "search/evaluate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/values/recompute_sections.h"
#include "costmodel/assumptions.h"
#include "costmodel/host_updates.h"
#include "costmodel/price_stages.h"
#include "search/arrange.h"
#include "search/arrange_within.h"
#include "search/calibrated_interval.h"
#include "search/choose_cuts.h"
#include "search/device_cluster.h"
#include "search/evaluation.h"
#include "search/host_room.h"
#include "search/memory.h"
#include "search/other_cuts.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "search/rolled_program.h"
#include "search/steady_plan.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

PerRank<double> usd_per_hour(const PlanDevices& devices) {
  if (devices.types.size() == 1) return devices.types[0].device.usd_per_hour;
  std::vector<double> prices;
  prices.reserve(devices.type_of_rank.size());
  for (std::size_t r = 0; r < devices.type_of_rank.size(); ++r) {
    prices.push_back(devices.of_rank(static_cast<int>(r)).device.usd_per_hour);
  }
  return PerRank<double>::of_each(std::move(prices));
}

// Of unequal replicas the device with least memory for a rank, one entry per rank.
std::vector<std::size_t> tightest_of_ranks(const PlanDevices& devices, const Plan& plan) {
  const auto room = [&](std::size_t listed) {
    const DeviceCluster& type = devices.of_rank(static_cast<int>(listed));
    return type.device.memory - type.reserve;
  };
  const auto ranks = static_cast<std::size_t>(plan.pipeline);
  std::vector<std::size_t> tightest(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    tightest[rank] = rank;
    for (std::size_t at = rank; at < devices.type_of_rank.size(); at += ranks) {
      if (room(at) < room(tightest[rank])) tightest[rank] = at;
    }
  }
  return tightest;
}

PlanDevices devices_to_cut_for(const PlanDevices& devices, const Plan& plan) {
  PlanDevices result = devices;
  if (!plan.has_unequal_replicas()) return result;
  result.type_of_rank.clear();
  for (const std::size_t listed : tightest_of_ranks(devices, plan)) {
    result.type_of_rank.push_back(devices.type_of_rank[listed]);
  }
  return result;
}

// The kind whose replicas take most samples holds most.
int fullest_kind(const Plan& plan) {
  int fullest = 0;
  for (int kind = 1; kind < plan.kinds(); ++kind) {
    const auto samples = [&](int of) {
      return plan.replica_kinds[static_cast<std::size_t>(of)].samples;
    };
    if (samples(kind) > samples(fullest)) fullest = kind;
  }
  return fullest;
}

// Unequal replicas have the same cuts: every rank is taken to be on the slowest and on the smallest
// of its devices.
std::optional<Rejection> choose(const PlanInputs& inputs, const PreparedPlan& prepared,
                                Plan& chosen) {
  const PlanDevices devices = devices_to_cut_for(prepared.devices, chosen);
  Plan plan = plan_of_kind(chosen, fullest_kind(chosen));
  RankSums sums = prepared.sums.full_size();
  std::optional<PlanSums> kept;
  if (last_rank_keeps(plan)) {
    kept.emplace(*inputs.profile, devices, keeping(plan));
    if (kept->why_not().empty()) sums = last_rank_keeps(sums, kept->full_size(), plan.pipeline);
  }
  const BackwardKind backward = prepared.kind->backward;
  const auto balanced = balanced_cuts(sums, plan, backward);
  plan.cuts = balanced.value();  // stages() <= sections
  const TiedParameters ties(*inputs.profile, plan.tensor);
  const HeldCounts held = exactly_held_of(with_stand_in(plan));
  const StageMemory memory(sums, ties, {inputs.profile->training, chosen}, held, devices.reserve(),
                           devices.memory(),
                           last_rank_keeps(plan) ? ShortLast{} : short_last_of(prepared));
  Cuts cuts = choose_cuts(sums, memory, plan, backward, *balanced);
  chosen.cuts = *balanced;
  if (!cuts.cuts.empty()) chosen.cuts = std::move(cuts.cuts);
  return std::move(cuts.why_not);
}

void write_out(const PlanSchedules& schedules, const LoweringOptions& options,
               const ExecutorModel& executor, EvaluatedPlan& result) {
  result.program = program_of(schedules, options);
  result.timeline = simulate(result.program, result.prices, executor);
}

std::vector<RankLiveness> liveness_of_kinds(const Plan& plan) {
  std::vector<RankLiveness> ranks;
  for (int kind = 0; kind < plan.kinds(); ++kind) {
    std::vector<RankLiveness> of_kind = liveness_of(plan_of_kind(plan, kind));
    ranks.insert(ranks.end(), std::make_move_iterator(of_kind.begin()),
                 std::make_move_iterator(of_kind.end()));
  }
  return ranks;
}

// What follows from the rolled-up schedules of a plan. An automatic schedule, whose lists are
// written out, tells itself what it holds.
Judged judged(const PreparedPlan& prepared, const PlanSchedules& schedules,
              const LoweringOptions& options, const ExecutorModel& executor,
              const EvaluatedPlan& result) {
  ReplayBuffers buffers;
  AttributedSimulation simulated = simulate_schedule_attributed(
      schedules.pipelines, options, result.prices, executor, buffers, result.plan.kinds());
  return {std::move(simulated.summary), std::move(simulated.ranks),
          prepared.kind->is_automatic() ? liveness_of(schedules) : liveness_of_kinds(result.plan),
          stash_of(schedules.pipelines, result.prices), simulated.work.steps};
}

// Works out everything that follows from the schedules.
void replay(const PlanInputs& inputs, const PreparedPlan& prepared, const PlanSchedules& schedules,
            const ErrorBand& interval, EvaluatedPlan& result) {
  const PlanDevices& devices = prepared.devices;
  const ExecutorModel& executor = inputs.executor;
  const LoweringOptions options =
      lowering_of(result.plan, result.ties, prepared.sums.recomputes(), executor);
  result.recomputes = options.recompute;
  const ListedRanks listed = listed_ranks(result.plan);
  if (!listed.by_pools && executor.issue == IssueOrder::kEager &&
      can_simulate_schedule(*schedules.pipelines.front().schedule, executor)) {
    result.evaluation =
        evaluation_of(judged(prepared, schedules, options, executor, result), result.prices,
                      executor, devices.memory(), devices.reserve(), interval, listed);
    // No generator makes it again.
    if (prepared.kind->is_automatic()) write_out(schedules, options, executor, result);
  } else if (const auto few = judged_by_few(result.plan, result.ties, options.recompute,
                                            result.prices, executor)) {
    result.evaluation = evaluation_of(*few, result.prices, executor, devices.memory(),
                                      devices.reserve(), interval, listed);
  } else {
    write_out(schedules, options, executor, result);
    result.evaluation = evaluation_of(result.program, result.prices, result.timeline, executor,
                                      devices.memory(), devices.reserve(), interval, listed);
  }
  result.evaluation.usd_per_step =
      usd_per_step(result.evaluation.step_time, result.plan, usd_per_hour(devices));
  std::vector<MemoryUse> memory;
  for (const RankEvaluation& rank : result.evaluation.ranks) memory.push_back(rank.memory);
  result.why_not = over_memory(memory, result.plan, devices.memory());
  if (!result.why_not) result.why_not = over_host_memory(inputs, result.plan, result.prices);
}

void arrange_and_replay(const PlanInputs& inputs, const PreparedPlan& prepared,
                        const ErrorBand& interval, EvaluatedPlan& result) {
  const PlanDevices& devices = prepared.devices;
  const ArrangedWithin within =
      arrange_within(inputs, result.plan, result.prices, result.ties, prepared.sums.recomputes(),
                     devices.reserve(), devices.memory());
  if (!within.arranged.why_not.empty()) {
    result.why_not = within.why_not;
    return;
  }
  replay(inputs, prepared, within.arranged.schedules, interval, result);
}

// What the runs say of a calibrated cluster takes the place of what is thought without them.
void use_calibrated_interval(const PlanInputs& inputs, PriceBasis& basis, EvaluatedPlan& result) {
  const auto& calibration = inputs.cluster->calibration;
  if (!calibration || !calibration->posterior || result.evaluation.ranks.empty()) return;
  Evaluation& evaluation = result.evaluation;
  const auto calibrated = calibrated_interval(inputs, result);
  if (!calibrated) return;
  const double rest = basis.interval.above * basis.interval.above -
                      basis.before_calibration * basis.before_calibration;
  const double half_width =
      std::sqrt(calibrated->half_width * calibrated->half_width + std::max(rest, 0.0));
  const Duration margin = scaled(evaluation.step_time, half_width);
  // Up to a half it is the same below as above; a step that takes no time is none.
  evaluation.step_time_low = evaluation.step_time - margin;
  if (half_width > 0.5) {
    evaluation.step_time_low = scaled(evaluation.step_time, 1.0 / (1.0 + 2.0 * half_width));
  }
  evaluation.step_time_high = evaluation.step_time + margin;
  for (const std::string& note : calibrated->notes) basis.assumptions.push_back({note, 0.0});
}

}  // namespace

namespace {

// Of a plan whose cuts were chosen by what a stand-in holds, and do not fit.
EvaluatedPlan with_other_cuts(const PlanInputs& inputs, EvaluatedPlan chosen) {
  const OtherCuts others = other_cuts(inputs, chosen.plan);
  if (others.cuts.empty()) {
    if (!others.all_tried) chosen.why_not = not_proven(std::move(*chosen.why_not));
    return chosen;
  }
  Plan plan = chosen.plan;
  plan.cuts = others.cuts;
  return evaluate(inputs, plan);
}

}  // namespace

EvaluatedPlan evaluate(const PlanInputs& inputs, const Plan& plan) {
  const PreparedPlan prepared = prepare(inputs, plan);
  EvaluatedPlan result;
  result.plan = prepared.plan;
  result.why_not = prepared.why_not;
  if (result.why_not) return result;
  std::optional<Rejection> why_not;
  if (plan.cuts.empty()) {
    why_not = choose(inputs, prepared, result.plan);
    // Its own replay tells what it holds. And only with cuts is it known which sections the last
    // rank of a run-time rule keeps.
    if (prepared.kind->is_costly && !result.plan.cuts.empty()) {
      EvaluatedPlan chosen = evaluate(inputs, result.plan);
      return chosen.why_not ? with_other_cuts(inputs, std::move(chosen)) : chosen;
    }
  }

  const RankTables tables = prepared.sums.tables();
  StagePricing pricing = price_stages(*inputs.profile, *inputs.cluster, result.plan, tables,
                                      prepared.kind->splits_backward());
  PriceBasis basis = weigh_assumptions(*inputs.profile, *inputs.cluster, result.plan, tables,
                                       pricing, prepared.kind->splits_backward());
  result.prices = std::move(pricing.prices);
  result.ties = std::move(pricing.ties);
  result.boundary_level = std::move(pricing.boundary_level);
  if (prepared.kind->is_automatic()) {
    arrange_and_replay(inputs, prepared, basis.interval, result);
  } else {
    replay(inputs, prepared, schedules_of(result.plan), basis.interval, result);
    // Of several shapes the cuts were chosen by the largest; what they hold is known only now.
    if (!result.why_not && result.prices.shapes == 1) result.why_not = why_not;
  }
  use_calibrated_interval(inputs, basis, result);
  result.evaluation.assumptions = std::move(basis.assumptions);
  return result;
}

EvaluatedPlan evaluate_in_full(const PlanInputs& inputs, const Plan& plan) {
  EvaluatedPlan result = evaluate(inputs, plan);
  if (result.evaluation.ranks.empty() || !result.program.actions.empty()) return result;
  write_out(schedules_of(result.plan),
            lowering_of(result.plan, result.ties, result.recomputes, inputs.executor),
            inputs.executor, result);
  return result;
}

PricedPlan price(const PlanInputs& inputs, const Plan& plan) {
  const PreparedPlan prepared = prepare(inputs, plan);
  if (prepared.why_not) return {prepared.why_not, {}};
  return {{},
          price_stages(*inputs.profile, *inputs.cluster, prepared.plan, prepared.sums.tables(),
                       prepared.kind->splits_backward())
              .prices};
}

namespace {

PlanFile without_program(const PlanInputs& inputs, const EvaluatedPlan& evaluated) {
  const PlanDevices devices = devices_of(*inputs.cluster, evaluated.plan, inputs.reserve);
  PlanFile file;
  file.model = inputs.profile->name;
  file.description = inputs.profile->description;
  for (const Section& section : inputs.profile->sections) {
    file.section_names.push_back(section.name);
  }
  file.plan = evaluated.plan;
  file.cluster = plan_cluster(devices, evaluated.boundary_level);
  if (file.plan.offload_optimizer) {
    if (const auto host = host_of(*inputs.cluster, file.plan.device)) {
      file.cluster.host_memory = host->memory;
    }
  }
  file.ties = evaluated.ties;
  file.executor = inputs.executor;
  file.prices = evaluated.prices;
  file.prediction = evaluated.evaluation;
  return file;
}

void add_program(const PlanInputs& inputs, const EvaluatedPlan& evaluated, PlanFile& file) {
  file.program = evaluated.program;
  if (!file.program.actions.empty()) return;
  file.program = program_of(
      schedules_of(evaluated.plan),
      lowering_of(evaluated.plan, evaluated.ties, evaluated.recomputes, inputs.executor));
}

}  // namespace

PlanFile to_plan_file(const PlanInputs& inputs, const EvaluatedPlan& evaluated) {
  PlanFile file = without_program(inputs, evaluated);
  add_program(inputs, evaluated, file);
  return file;
}

PlanFile to_rolled_up_plan_file(const PlanInputs& inputs, const EvaluatedPlan& evaluated) {
  PlanFile file = without_program(inputs, evaluated);
  const bool left_out =
      evaluated.program.actions.empty() && can_be_rolled_up(file, evaluated.recomputes);
  if (!left_out) add_program(inputs, evaluated, file);
  return file;
}

namespace {

template <class Value>
PerRank<Value> of_ranks(const PlanFile& file, Value PlanDevice::*member) {
  if (!file.plan.is_mixed()) return device_of_rank(file, 0).*member;
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(file.plan.listed_ranks()));
  for (int r = 0; r < file.plan.listed_ranks(); ++r) {
    values.push_back(device_of_rank(file, r).*member);
  }
  return PerRank<Value>::of_each(std::move(values));
}

}  // namespace

namespace {

Program written_out(const PlanFile& file) {
  const RolledFile rolled = rolled_file(file);
  return program_of(rolled.schedules, rolled.options);
}

// Nothing where the Program has to be written out.
std::optional<Judged> judged(const PlanFile& file) {
  const RolledFile rolled = rolled_file(file);
  if (!can_simulate_schedule(file.executor)) {
    return judged_by_few(file.plan, file.ties, rolled.options.recompute, file.prices,
                         file.executor);
  }
  ReplayBuffers buffers;
  AttributedSimulation simulated = simulate_schedule_attributed(
      rolled.schedules.pipelines, rolled.options, file.prices, file.executor, buffers);
  return Judged{.summary = std::move(simulated.summary),
                .times = std::move(simulated.ranks),
                .held = liveness_of(file.plan),
                .stash = stash_of(rolled.schedules.pipelines, file.prices),
                .replayed = simulated.work.steps};
}

}  // namespace

Replayed replay_plan_file(const PlanFile& file) {
  Replayed replayed;
  const auto step = static_cast<double>(file.prediction.step_time.count());
  const auto part = [&](Duration of) {
    return step > 0 ? static_cast<double>(of.count()) / step : 0.0;
  };
  const ErrorBand interval{part(file.prediction.step_time - file.prediction.step_time_low),
                           part(file.prediction.step_time_high - file.prediction.step_time)};
  const auto memory = of_ranks(file, &PlanDevice::memory);
  const auto reserve = of_ranks(file, &PlanDevice::reserve);
  const auto told = is_rolled_up(file) ? judged(file) : std::nullopt;
  if (told) {
    replayed.evaluation =
        evaluation_of(*told, file.prices, file.executor, memory, reserve, interval);
  } else {
    const Program written = is_rolled_up(file) ? written_out(file) : Program{};
    const Program& program = is_rolled_up(file) ? written : file.program;
    Timeline timeline = simulate(program, file.prices, file.executor);
    replayed.evaluation = evaluation_of(program, file.prices, timeline, file.executor, memory,
                                        reserve, interval, listed_ranks(file.plan));
    if (!is_rolled_up(file)) replayed.timeline = std::move(timeline);
  }
  replayed.evaluation.usd_per_step = usd_per_step(replayed.evaluation.step_time, file.plan,
                                                  of_ranks(file, &PlanDevice::usd_per_hour));
  replayed.evaluation.assumptions = file.prediction.assumptions;
  return replayed;
}

}  // namespace penstock
