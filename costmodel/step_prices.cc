// Counts the parameters of every stage, tied tensors once per stage that holds them, and from those
// the bytes of state, the gradients to reduce, and the time of an update by the profile's time per
// parameter. Reductions run among the devices that hold the same stage (or tie), priced by
// links.cc, with the slower factor where types differ; under ZeRO-1 a reduce-scatter and an
// all-gather take the place of the all-reduce, and a rank updates its part only. What sections
// gather and reduce by themselves is not here but in their forwards and backwards (price_units.h).
//
// Invariant: what is reduced, kept and updated counts each parameter of the model once per holder,
// so the sums over stages are those of the model plus the repeated ties.
#include "costmodel/step_prices.h"

#include <algorithm>
#include <string>

#include "core/values/error.h"
#include "core/values/held_parameters.h"
#include "costmodel/hide_reductions.h"
#include "costmodel/host_updates.h"
#include "costmodel/interpolate.h"
#include "costmodel/links.h"
#include "costmodel/sharded_state.h"

namespace penstock {
namespace {

// Of a norm: one fp32 sum of squares.
constexpr Bytes kNormBytes{4};

std::int64_t rounded_up(std::int64_t count, std::int64_t parts) {
  return (count + parts - 1) / parts;
}

std::int64_t needed_parameters(const std::vector<ParameterCount>& counts, const std::string& name,
                               int tensor_degree) {
  if (const auto count = parameters_at(counts, tensor_degree)) return *count;
  throw Error(ErrorKind::kInternal, "no parameter count of '" + name + "' for tensor degree " +
                                        std::to_string(tensor_degree) +
                                        "; price_sections() refuses such plans");
}

// Of the first copy of the weights.
int stage_of(const Plan& plan, SectionId section) {
  const auto after = std::upper_bound(plan.cuts.begin(), plan.cuts.end(), section.value);
  return static_cast<int>(after - plan.cuts.begin()) - 1;
}

HeldParameters needed_parameters(const SectionType& type, const Plan& plan) {
  if (const auto held = held_parameters(type, plan.tensor, plan.other_degrees())) return *held;
  return {needed_parameters(type.parameters, type.name, plan.tensor)};
}

// Parameters of the first so many stages of one copy, each tied tensor once per stage.
std::vector<HeldParameters> stage_parameters(const ModelProfile& profile, const Plan& plan,
                                             int stages) {
  std::vector<std::optional<HeldParameters>> of_type(profile.section_types.size());
  std::vector<HeldParameters> sums;
  sums.reserve(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    HeldParameters& sum = sums.emplace_back();
    for (int section = plan.first_section(stage); section < plan.end_section(stage); ++section) {
      const auto type =
          static_cast<std::size_t>(profile.sections[static_cast<std::size_t>(section)].type);
      if (!of_type[type]) of_type[type] = needed_parameters(profile.section_types[type], plan);
      sum.all += of_type[type]->all;
      sum.experts += of_type[type]->experts;
    }
  }
  for (const TiedWeights& tied : profile.tied_weights) {
    const std::int64_t shared = needed_parameters(tied.parameters, tied.name, plan.tensor);
    for (std::size_t i = 1; i < tied.sections.size(); ++i) {  // sections ascend, stages too
      const int stage = stage_of(plan, tied.sections[i]);
      if (stage < stages && stage == stage_of(plan, tied.sections[i - 1])) {
        sums[static_cast<std::size_t>(stage)].all -= shared;
      }
    }
  }
  return sums;
}

// The part of them that a rank updates under ZeRO-1.
std::int64_t updated_of(const Plan& plan, const HeldParameters& held) {
  return rounded_up(held.all - held.experts, plan.shards()) +
         (held.experts > 0 ? rounded_up(held.experts, plan.expert_shards()) : 0);
}

// Under ZeRO-1 a rank updates only its part of the parameters of a stage.
Duration optimizer_time(const TrainingState& training, const ClusterSpec& cluster, const Plan& plan,
                        int rank, const HeldParameters& parameters) {
  const auto updated = static_cast<double>(updated_of(plan, parameters));
  if (training.optimizer_ps_per_parameter) {
    return whole_nanoseconds(static_cast<double>(*training.optimizer_ps_per_parameter) * updated /
                             1000.0);
  }
  const std::string& device = plan.device_of_rank(rank);
  const double rate = find_device_type(cluster, device)->memory_bandwidth.value;
  if (rate <= 0.0) {
    throw_bad_input("device type '" + device +
                    "' has no memory bandwidth to price the optimizer with");
  }
  const Bytes state = training.bytes_per_parameter + training.bytes_per_gradient +
                      training.optimizer_bytes_per_parameter;
  return whole_nanoseconds(2.0 * updated * static_cast<double>(state.count) / rate * 1e9);
}

Duration slowest(const ClusterSpec& cluster, CollectiveKind kind,
                 const std::vector<Collective>& collectives, Bytes bytes) {
  Duration time{};
  for (const Collective& each : collectives) {
    time = std::max(time, group_time(cluster, kind, each.group, bytes, each.rings));
  }
  return time;
}

// In one copy of the weights, ascending.
std::vector<int> holding_stages(const Plan& plan, const TiedWeights& tied) {
  std::vector<int> stages;
  stages.reserve(tied.sections.size());
  for (const SectionId section : tied.sections) stages.push_back(stage_of(plan, section));
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  return stages;
}

// What a stage of one copy counts of the global norm: of a tie the first stage that holds it.
std::vector<HeldParameters> normed_parameters(const ModelProfile& profile, const Plan& plan,
                                              std::vector<HeldParameters> of_copy) {
  for (const TiedWeights& tied : profile.tied_weights) {
    const std::int64_t shared = needed_parameters(tied.parameters, tied.name, plan.tensor);
    const std::vector<int> holders = holding_stages(plan, tied);
    for (std::size_t i = 1; i < holders.size(); ++i) {
      of_copy[static_cast<std::size_t>(holders[i])].all -= shared;
    }
  }
  return of_copy;
}

// Of the rank that counts most. Without ZeRO-1 one holder of a stage counts all of it; of the ranks
// that hold two stages in two copies, the lower ones are that holder for both.
Duration longest_norm_part(const ModelProfile& profile, const Plan& plan,
                           const std::vector<HeldParameters>& of_copy) {
  if (profile.training.norm_ps_per_parameter == 0) return Duration{};
  const std::vector<HeldParameters> counted = normed_parameters(profile, plan, of_copy);
  std::vector<std::int64_t> of_rank(static_cast<std::size_t>(plan.pipeline), 0);
  for (int stage = 0; stage < plan.stages(); ++stage) {
    const auto& parameters = counted[static_cast<std::size_t>(stage % plan.stages_per_copy())];
    of_rank[static_cast<std::size_t>(plan.rank_of(stage))] += updated_of(plan, parameters);
  }
  return whole_nanoseconds(static_cast<double>(profile.training.norm_ps_per_parameter) *
                           static_cast<double>(*std::max_element(of_rank.begin(), of_rank.end())) /
                           1000.0);
}

void price_ties(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan,
                StepPrices& prices) {
  for (const TiedWeights& tied : profile.tied_weights) {
    const std::vector<int> holders = holding_stages(plan, tied);
    if (holders.size() < 2) continue;
    PlanTie tie{tied.name, {}};
    for (int copy = 0; copy < plan.copies(); ++copy) {
      for (const int stage : holders) {
        tie.stages.push_back(copy * plan.stages_per_copy() + stage);
      }
    }
    const auto groups = wiring.tied_groups(ranks_of(plan, tie.stages));
    const Bytes bytes = profile.training.bytes_per_gradient *
                        needed_parameters(tied.parameters, tied.name, plan.tensor);
    prices.tied_reduce.push_back(
        {tied.name,
         {slowest(wiring.cluster(), CollectiveKind::kAllReduce, groups, bytes), Duration{}}});
    prices.ties.push_back(std::move(tie));
  }
}

// Every other collective is among some of these devices, so it crosses no level that this one does
// not.
Duration norm_reduction(const PlanWiring& wiring, StepPrices& prices) {
  const Collective& all = wiring.all_devices();
  for (std::size_t level = 0; level < all.group.levels.size(); ++level) {
    prices.level_used[level] = all.group.levels[level].most > 1;
  }
  return slowest(wiring.cluster(), CollectiveKind::kAllReduce, {all}, kNormBytes);
}

// Of all sections of a stage, shared weights that are frozen more than once.
Bytes fixed_bytes(const ModelProfile& profile, const Plan& plan, int stage) {
  Bytes sum;
  for (int section = plan.first_section(stage); section < plan.end_section(stage); ++section) {
    const int type = profile.sections[static_cast<std::size_t>(section)].type;
    sum += profile.section_types[static_cast<std::size_t>(type)].fixed;
  }
  return sum;
}

StepPrice stage_state(const ModelProfile& profile, const ShardedState& state, const Plan& plan,
                      int stage, const HeldParameters& parameters) {
  const StateBytes bytes = state.of(parameters);
  StepPrice step;
  step.parameters = Bytes{bytes.parameters} + fixed_bytes(profile, plan, stage);
  step.gradients = {bytes.gradients};
  step.optimizer_state = {bytes.optimizer};
  const auto parameters_of = [&](int section) {
    const int type = profile.sections[static_cast<std::size_t>(section)].type;
    return held_parameters(profile.section_types[static_cast<std::size_t>(type)], plan.tensor,
                           plan.other_degrees())
        .value_or(HeldParameters{})
        .all;
  };
  step.section_buffers = {most_section_buffers(state, plan.first_section(stage),
                                               plan.end_section(stage), parameters_of)};
  return step;
}

// In place of what the device would keep and do; of several device types the slowest counts.
void offload(const TrainingState& training, const ClusterSpec& cluster, const Plan& plan,
             const HeldParameters& parameters, int stage, StepPrice& step) {
  Plan kept = plan;
  kept.offload_optimizer = false;
  step.only_on_host = {ShardedState(training, kept).of(parameters).optimizer};
  const bool is_measured = plan.device == kCpuDevice && training.optimizer_ps_per_parameter;
  if (!is_measured) step.optimizer = {};
  for (int rank = plan.rank_of(stage); rank < plan.listed_ranks(); rank += plan.pipeline) {
    update_on_host(training, cluster, plan, rank, updated_of(plan, parameters), step);
  }
}

// Ranks of different types that reduce together go by the slower factors.
PriceFactors reduction_factors(const ClusterSpec& cluster, const Plan& plan,
                               const std::vector<int>& ranks) {
  PriceFactors slowest;
  for (const int rank : ranks) {
    for (int listed = rank; listed < plan.listed_ranks(); listed += plan.pipeline) {
      const PriceFactors factors = factors_for(cluster, plan.device_of_rank(listed));
      slowest.reduction = std::max(slowest.reduction, factors.reduction);
      slowest.reduction_ps_per_byte =
          std::max(slowest.reduction_ps_per_byte, factors.reduction_ps_per_byte);
    }
  }
  return slowest;
}

// The devices that hold the same of a stage, and how they divide it.
struct Holders {
  const std::vector<Collective>& all;
  const std::vector<Collective>& shard;       // one set of shards
  const std::vector<Collective>& same_shard;  // the same part of other sets
  int shards = 1;
};

// Into shards, and those of all groups of shards together (HSDP).
Duration reduction_time(const ClusterSpec& cluster, const Plan& plan, const Holders& holders,
                        Bytes gradients) {
  if (!plan.zero1) return slowest(cluster, CollectiveKind::kAllReduce, holders.all, gradients);
  const Bytes shard{rounded_up(gradients.count, holders.shards)};
  return slowest(cluster, CollectiveKind::kReduceScatter, holders.shard, gradients) +
         slowest(cluster, CollectiveKind::kAllReduce, holders.same_shard, shard);
}

// Of one stage: experts, which fewer ranks hold, after everything else.
struct Reduction {
  Duration reduce{}, gather{};
};
Reduction reduction_of(const Plan& plan, const ClusterSpec& cluster, Bytes gradients, Bytes weights,
                       const Holders& holders, const PriceFactors& factors) {
  Reduction times;
  if (!plan.reduces_by_section()) {
    times.reduce = scaled(reduction_time(cluster, plan, holders, gradients), factors.reduction) +
                   whole_nanoseconds(factors.reduction_ps_per_byte *
                                     static_cast<double>(gradients.count) / 1000.0);
  }
  if (plan.zero1 && !plan.gathers_by_section()) {
    times.gather = slowest(cluster, CollectiveKind::kAllGather, holders.shard, weights);
  }
  return times;
}

// Of stage `s` of every copy, on their ranks.
Reduction reduction_of_stage(const ModelProfile& profile, const PlanWiring& wiring,
                             const Plan& plan, int s, const HeldParameters& held) {
  const ClusterSpec& cluster = wiring.cluster();
  const std::vector<int> ranks = ranks_of(plan, in_all_copies(plan, s));
  const PriceFactors factors = reduction_factors(cluster, plan, ranks);
  const int rank = ranks.front();
  const auto part = [&](std::int64_t parameters, const Holders& of) {
    return reduction_of(plan, cluster, profile.training.bytes_per_gradient * parameters,
                        profile.training.bytes_per_parameter * parameters, of, factors);
  };
  const Reduction dense =
      part(held.all - held.experts, {wiring.weight_groups(rank), wiring.shard_groups(rank),
                                     wiring.same_shard_groups(rank), plan.shards()});
  Reduction experts;
  if (held.experts > 0 && plan.expert_copies() > 1) {
    experts = part(held.experts, {wiring.expert_groups(rank), wiring.expert_shard_groups(rank),
                                  wiring.same_expert_shard_groups(rank), plan.expert_shards()});
  }
  return {dense.reduce + experts.reduce, dense.gather + experts.gather};
}

// What no section does by itself (price_units.h).
void reduce_gradients(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan,
                      const std::vector<HeldParameters>& of_copy, StepPrices& prices) {
  for (int s = 0; s < plan.stages_per_copy(); ++s) {
    const Reduction times =
        reduction_of_stage(profile, wiring, plan, s, of_copy[static_cast<std::size_t>(s)]);
    for (const int stage : in_all_copies(plan, s)) {
      StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
      step.reduce_gradient.duration = times.reduce;
      step.unshard.duration = times.gather;
    }
  }
}

}  // namespace

std::optional<std::int64_t> parameters_at(const std::vector<ParameterCount>& counts,
                                          int tensor_degree) {
  for (const ParameterCount& count : counts) {
    if (count.tensor_degree == tensor_degree) return count.count;
  }
  return std::nullopt;
}

StepPrices price_steps(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan) {
  StepPrices prices;
  prices.level_used.resize(wiring.cluster().levels.size());
  const std::vector<HeldParameters> of_copy =
      stage_parameters(profile, plan, plan.stages_per_copy());
  for (const HeldParameters& held : of_copy) prices.parameters.push_back(held.all);
  const ShardedState state(profile.training, plan);
  prices.step.reserve(static_cast<std::size_t>(plan.stages()));
  for (int stage = 0; stage < plan.stages(); ++stage) {
    const auto& parameters = of_copy[static_cast<std::size_t>(stage % plan.stages_per_copy())];
    StepPrice& step = prices.step.emplace_back(
        stage_state(profile, state, plan, stage % plan.stages_per_copy(), parameters));
    // Whatever comes behind an optimizer waits for it in all replicas.
    for (int rank = plan.rank_of(stage); rank < plan.listed_ranks(); rank += plan.pipeline) {
      const Duration one =
          optimizer_time(profile.training, wiring.cluster(), plan, rank, parameters);
      step.optimizer.duration = std::max(step.optimizer.duration, one);
    }
    if (plan.offload_optimizer)
      offload(profile.training, wiring.cluster(), plan, parameters, stage, step);
  }
  if (plan.weight_copies() > 1) reduce_gradients(profile, wiring, plan, of_copy, prices);
  price_ties(profile, wiring, plan, prices);
  prices.norm.duration = longest_norm_part(profile, plan, of_copy);
  if (plan.devices() > 1) prices.norm.duration += norm_reduction(wiring, prices);
  return prices;
}

// Reductions and gathers by bucket leave at least the share of a bucket (hide_reductions.h).
FirstStageEnd first_stage_end(const ModelProfile& profile, const PlanWiring& wiring,
                              const Plan& plan) {
  if (plan.is_mixed() || plan.offload_optimizer) return {};
  const HeldParameters held = stage_parameters(profile, plan, 1).front();
  FirstStageEnd end;
  Duration gather{};
  if (plan.weight_copies() > 1) {
    const Reduction whole = reduction_of_stage(profile, wiring, plan, 0, held);
    const double shown = least_shown_of(profile.training, plan.weight_copies(), held.all);
    end.reduce = scaled(whole.reduce, shown);
    gather = scaled(whole.gather, shown);
  }
  end.after_norm = optimizer_time(profile.training, wiring.cluster(), plan, 0, held);
  if (plan.stages() == plan.pipeline) end.after_norm += gather;
  return end;
}

}  // namespace penstock
