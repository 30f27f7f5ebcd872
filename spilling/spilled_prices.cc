// A unit that goes back through a shard repeats its forward first, keeping all activations of one
// micro-batch, so that backward prices hold both; of forward units only the input of the shard is
// kept (on the device: a stash of one boundary per micro-batch). Where the optimizer runs on the
// host, a copy back goes section by section: while the gradient of one is under way, the one before
// is updated, and the copy ends with the last update, as SpilledWork does it in the last pass of a
// step. Those of earlier passes, which only add up, are priced alike: rather too long.
#include "spilling/spilled_prices.h"

#include <algorithm>

#include "core/values/durations.h"
#include "costmodel/assumptions.h"
#include "search/evaluation.h"
#include "simulator/simulate.h"
#include "spilling/spilled_program.h"

namespace penstock {
namespace {

constexpr const char* kNoRecompute = "none";

Plan plan_of(const SpillQuestion& question, const SpillChoice& choice, const ShardCuts& cuts) {
  Plan plan;
  plan.schedule = "spilled";
  plan.chunks = static_cast<int>(cuts.size()) - 1;
  plan.micro_batch_size = choice.micro_batch_size;
  plan.global_batch = question.global_batch;
  plan.sequence_length = question.sequence_length;
  plan.device = question.device;
  plan.cuts = cuts;
  return plan;
}

ExecutorModel executor_of(const SpillQuestion& question) {
  ExecutorModel executor = question.inputs.executor;
  executor.optimizer =
      question.clips ? OptimizerGate::kGlobalBarrier : OptimizerGate::kPostValidation;
  executor.host_link = question.host.duplex ? HostLink::kDuplex : HostLink::kSimplex;
  return executor;
}

std::int64_t between(const std::vector<std::int64_t>& sums, int first, int end) {
  return sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(first)];
}

Duration of_parameters(std::int64_t count, double picoseconds) {
  return round_up_to_ns(static_cast<double>(count) * picoseconds * 1e-12);
}

}  // namespace

SpillPrices::SpillPrices(const SpillQuestion& question, int micro_batch_size)
    : question_(question),
      device_(device_cluster(*question.inputs.cluster, question.device, question.inputs.reserve)),
      sums_(sum_sections(*question.inputs.profile, *question.inputs.cluster, question.device, 1,
                         micro_batch_size, question.sequence_length, kNoRecompute)),
      ties_(*question.inputs.profile, 1) {
  const HostOptimizer& host = question.optimizer;
  for (int i = 0; i < sections(); ++i) {
    const State state = state_of(i, i + 1);
    copied_.push_back(copy_time(state.gradients));
    behind_.push_back(of_parameters(state.count, question.clips ? host.norm : host.update));
  }
}

SpillPrices::State SpillPrices::state_of(int first, int end) const {
  const TrainingState& training = question_.inputs.profile->training;
  State state;
  state.count = between(sums_.parameters, first, end) - ties_.repeated(first, end);
  state.parameters =
      state.count * training.bytes_per_parameter.count + between(sums_.fixed, first, end);
  state.gradients = state.count * training.bytes_per_gradient.count;
  state.optimizer = state.count * training.optimizer_bytes_per_parameter.count;
  return state;
}

Duration SpillPrices::copy_time(std::int64_t bytes) const {
  return transfer_time(Bytes{bytes}, question_.host.bandwidth);
}

// Gradients that add up over several passes go along.
std::int64_t SpillPrices::kept_bytes(const SpillChoice& choice, const State& state) {
  return state.parameters + state.optimizer + (choice.passes > 1 ? state.gradients : 0);
}

Duration SpillPrices::store_time(const SpillChoice& choice, int first, int end) const {
  const State state = state_of(first, end);
  if (choice.update == UpdatePlace::kDevice) return copy_time(kept_bytes(choice, state));
  const Duration all = copy_time(state.gradients);
  const bool has_tie = ties_.repeated(first, end) > 0;
  Duration there{}, done{};
  for (int i = first; i < end; ++i) {
    const auto s = static_cast<std::size_t>(i);
    there = std::min(there + copied_[s], all);  // without what rounding adds
    done = std::max(there, done) + (has_tie ? behind_of(first, i) : behind_[s]);
  }
  return std::max(all, done);
}

// What shares its weights with a section of the shard before it is not updated again.
Duration SpillPrices::behind_of(int first, int section) const {
  const std::int64_t count = state_of(first, section + 1).count - state_of(first, section).count;
  return of_parameters(count,
                       question_.clips ? question_.optimizer.norm : question_.optimizer.update);
}

Duration SpillPrices::update_time(const State& state) const {
  return of_parameters(state.count, question_.optimizer.update);
}

ShardTime SpillPrices::time_of(const SpillChoice& choice, int first, int end) const {
  const State state = state_of(first, end);
  ShardTime time;
  time.forward = Duration{between(sums_.forward, first, end) * choice.micro_batches};
  time.backward = Duration{between(sums_.fused_backward, first, end) * choice.micro_batches};
  time.load = copy_time(choice.update == UpdatePlace::kDevice ? kept_bytes(choice, state)
                                                              : state.parameters);
  time.store = store_time(choice, first, end);
  return time;
}

std::int64_t SpillPrices::largest_boundary() const {
  std::int64_t most = 0;  // nothing is handed on behind the last section
  for (int i = 0; i + 1 < sections(); ++i) {
    most = std::max(most, sums_.boundary[static_cast<std::size_t>(i)]);
  }
  return most;
}

std::int64_t SpillPrices::slot_of(const SpillChoice& choice, int first, int end) const {
  const State state = state_of(first, end);
  const bool with_optimizer = choice.update == UpdatePlace::kDevice;
  return state.parameters + state.gradients + (with_optimizer ? state.optimizer : 0);
}

std::int64_t SpillPrices::activations_of(int first, int end) const {
  return between(sums_.stash, first, end) + sums_.working_peak_of(first, end);
}

// The inputs of all shards but the first, and one more on the way between two.
std::int64_t SpillPrices::boundaries(const SpillChoice& choice, int shards) const {
  return largest_boundary() * choice.micro_batches * shards;
}

std::int64_t SpillPrices::capacity() const {
  return (device_.device.memory - device_.reserve).count;
}

void SpillPrices::set_shard(const SpillChoice& choice, const ShardCuts& cuts, int shard,
                            StagePrices& prices) const {
  const auto s = static_cast<std::size_t>(shard);
  const State state = state_of(cuts[s], cuts[s + 1]);
  ComputePrice& compute = prices.compute[s];
  if (s + 2 < cuts.size()) {
    compute.fused_backward.duration += compute.forward.duration;
    compute.input_gradient.duration += compute.forward.duration;
  }
  compute.working_peak += compute.stash + Bytes{largest_boundary() * choice.micro_batches};
  compute.weight_stash = {};
  compute.stash = s == 0 ? Bytes{} : Bytes{sums_.boundary[static_cast<std::size_t>(cuts[s]) - 1]};
  StepPrice& step = prices.step[s];
  const ShardTime time = time_of(choice, cuts[s], cuts[s + 1]);
  step.load.duration = time.load;
  step.store.duration = time.store;
  step.loaded = Bytes{state.parameters};
  step.stored = Bytes{state.gradients};
  if (choice.update == UpdatePlace::kDevice) {
    step.loaded = step.stored = Bytes{kept_bytes(choice, state)};
    return;
  }
  step.only_on_host = step.optimizer_state;
  step.optimizer_state = {};
  step.optimizer = {};
  if (question_.clips) step.optimizer.duration = update_time(state);
}

// All updates, or the loads of the first two shards, each behind its update.
Duration SpillPrices::behind_norm(const SpilledPlan& plan) const {
  Duration updated{}, loaded{};
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    const auto duration = [&](ActionKind kind) {
      return price_alone(plan.file.prices, kind, {static_cast<int>(s)});
    };
    updated += duration(ActionKind::kOptimizer);
    if (s < 2) loaded = std::max(loaded, updated) + duration(ActionKind::kLoad);
  }
  return std::max(updated, loaded);
}

void SpillPrices::set_totals(const SpillChoice& choice, SpilledPlan& plan) const {
  std::vector<ShardTime> times;
  times.reserve(plan.shards.size());
  for (const SpilledShard& shard : plan.shards) times.push_back(shard.time);
  const bool reloads = choice.update == UpdatePlace::kHost && !question_.clips;
  const Duration once = closed_form(times);
  plan.closed_form =
      (once - times.front().store) * (choice.passes - 1) + closed_form(times, reloads);
  if (question_.clips) plan.closed_form += behind_norm(plan);
  const PlanFile& file = plan.file;
  for (const Action& action : file.program.actions) {
    if (!is_copy(action.kind)) continue;
    const PricedPlace place = priced_place(file.program, action);
    const Bytes moved = payload_of(file.prices, action.kind, place);
    if (rule_of(action.kind).lane == Lane::kCopyOut) {
      plan.stored += moved;
    } else {
      plan.loading += price_alone(file.prices, action.kind, place);
      plan.loaded += moved;
    }
  }
  for (const StepPrice& step : file.prices.step) {
    plan.host += step.parameters + step.gradients + step.optimizer_state + step.only_on_host;
  }
  plan.compute = file.prediction.ideal;
  const Duration waits = std::min(plan.step() - plan.compute, plan.loading);
  plan.hidden = plan.loading == Duration{} ? 1.0
                                           : 1.0 - static_cast<double>(waits.count()) /
                                                       static_cast<double>(plan.loading.count());
}

SpillPrices::Worked SpillPrices::work_out(const SpillChoice& choice, const ShardCuts& cuts) const {
  const PlanInputs& inputs = question_.inputs;
  SpilledPlan spilled;
  spilled.update = choice.update;
  spilled.passes = choice.passes;
  PlanFile& file = spilled.file;
  file.plan = plan_of(question_, choice, cuts);
  const SectionTable* table = &sums_.table;
  const RankTables tables = std::vector<const SectionTable*>{table};
  StagePricing pricing = price_stages(*inputs.profile, *inputs.cluster, file.plan, tables);
  const PriceBasis basis =
      weigh_assumptions(*inputs.profile, *inputs.cluster, file.plan, tables, pricing, false);
  // Of tied sections in two shards each has a copy; their gradients meet on the host.
  pricing.prices.tied_reduce.clear();
  const int shards = file.plan.stages();
  for (int s = 0; s < shards; ++s) set_shard(choice, cuts, s, pricing.prices);
  pricing.prices.norm = {};

  const PlanDevices devices = devices_of(*inputs.cluster, file.plan, inputs.reserve);
  SpilledBatch batch{choice.passes, choice.micro_batches, {}, false, question_.clips};
  batch.each.samples = choice.micro_batch_size;
  batch.each.sequence_length = question_.sequence_length;
  batch.reloads_updated = choice.update == UpdatePlace::kHost;
  file.model = inputs.profile->name;
  file.description = inputs.profile->description;
  file.section_names.reserve(inputs.profile->sections.size());
  for (const Section& section : inputs.profile->sections) {
    file.section_names.push_back(section.name);
  }
  file.cluster = plan_cluster(devices, pricing.boundary_level);
  file.cluster.host_memory = question_.host.memory;
  file.executor = executor_of(question_);
  file.prices = std::move(pricing.prices);
  file.program = spilled_program(shards, batch);
  const Timeline timeline = simulate(file.program, file.prices, file.executor);
  file.prediction = evaluation_of(file.program, file.prices, timeline, file.executor,
                                  devices.memory(), devices.reserve(), basis.interval);
  file.prediction.usd_per_step = usd_per_step(file.prediction.step_time, file.plan,
                                              PerRank<double>(device_.device.usd_per_hour));
  file.prediction.assumptions = basis.assumptions;
  for (int s = 0; s < shards; ++s) {
    const int first = cuts[static_cast<std::size_t>(s)],
              end = cuts[static_cast<std::size_t>(s) + 1];
    const StepPrice& step = file.prices.step[static_cast<std::size_t>(s)];
    spilled.shards.push_back({first, end, step.parameters + step.gradients + step.optimizer_state,
                              time_of(choice, first, end)});
  }
  set_totals(choice, spilled);
  const Bytes total = file.prediction.ranks.front().memory.total();
  const std::int64_t over = (total - file.prediction.ranks.front().capacity).count;
  return {std::move(spilled), std::max<std::int64_t>(0, over)};
}

}  // namespace penstock
