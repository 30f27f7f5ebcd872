#include "costmodel/step_prices.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.h"
#include "costmodel/interpolate.h"
#include "costmodel/links.h"

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

// Parameters of the stages of one copy, each tied tensor once per stage.
std::vector<std::int64_t> stage_parameters(const ModelProfile& profile, const Plan& plan) {
  std::vector<std::int64_t> of_type(profile.section_types.size(), -1);
  std::vector<std::int64_t> sums;
  sums.reserve(static_cast<std::size_t>(plan.stages_per_copy()));
  for (int stage = 0; stage < plan.stages_per_copy(); ++stage) {
    std::int64_t& sum = sums.emplace_back(0);
    for (int section = plan.first_section(stage); section < plan.end_section(stage); ++section) {
      const auto type =
          static_cast<std::size_t>(profile.sections[static_cast<std::size_t>(section)].type);
      if (of_type[type] < 0) {
        of_type[type] = needed_parameters(profile.section_types[type].parameters,
                                          profile.section_types[type].name, plan.tensor);
      }
      sum += of_type[type];
    }
  }
  for (const TiedWeights& tied : profile.tied_weights) {
    const std::int64_t shared = needed_parameters(tied.parameters, tied.name, plan.tensor);
    for (std::size_t i = 1; i < tied.sections.size(); ++i) {  // sections ascend, stages too
      const int stage = stage_of(plan, tied.sections[i]);
      if (stage == stage_of(plan, tied.sections[i - 1])) {
        sums[static_cast<std::size_t>(stage)] -= shared;
      }
    }
  }
  return sums;
}

const DeviceType& device_type(const ClusterSpec& cluster, const std::string& name) {
  for (const DeviceType& type : cluster.device_types) {
    if (type.name == name) return type;
  }
  throw Error(ErrorKind::kBadInput,
              "cluster '" + cluster.name + "' has no device type '" + name + "'");
}

// Under ZeRO-1 a rank updates only its part of the parameters of a stage.
Duration optimizer_time(const TrainingState& training, const ClusterSpec& cluster, const Plan& plan,
                        std::int64_t parameters) {
  const auto updated =
      static_cast<double>(plan.zero1 ? rounded_up(parameters, plan.weight_copies()) : parameters);
  if (training.optimizer_ps_per_parameter) {
    return whole_nanoseconds(static_cast<double>(*training.optimizer_ps_per_parameter) * updated /
                             1000.0);
  }
  const double rate = device_type(cluster, plan.device).memory_bandwidth.value;
  if (rate <= 0.0) {
    throw Error(ErrorKind::kBadInput, "device type '" + plan.device +
                                          "' has no memory bandwidth to price the optimizer with");
  }
  const Bytes state = training.bytes_per_parameter + training.bytes_per_gradient +
                      training.optimizer_bytes_per_parameter;
  return whole_nanoseconds(2.0 * updated * static_cast<double>(state.count) / rate * 1e9);
}

// Where one set of devices lies, and how many such sets work at once.
struct Collective {
  GroupShape group;
  int rings = 1;
  bool operator==(const Collective&) const = default;
};

Duration slowest(const ClusterSpec& cluster, CollectiveKind kind,
                 const std::vector<Collective>& collectives, Bytes bytes) {
  Duration time{};
  for (const Collective& each : collectives) {
    time = std::max(time, group_time(cluster, kind, each.group, bytes, each.rings));
  }
  return time;
}

void add_distinct(std::vector<Collective>& all, Collective one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

void mark_levels(const std::vector<Collective>& collectives, std::vector<bool>& used) {
  for (const Collective& each : collectives) {
    for (std::size_t level = 0; level < each.group.levels.size(); ++level) {
      if (each.group.levels[level].most > 1) used[level] = true;
    }
  }
}

// The ranks of the stages, ascending and each once.
std::vector<int> ranks_of(const Plan& plan, const std::vector<int>& stages) {
  std::vector<int> ranks;
  ranks.reserve(stages.size());
  for (const int stage : stages) ranks.push_back(plan.rank_of(stage));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// The stage that holds the same sections in every copy of the weights.
std::vector<int> in_all_copies(const Plan& plan, int stage) {
  std::vector<int> stages;
  stages.reserve(static_cast<std::size_t>(plan.copies()));
  for (int copy = 0; copy < plan.copies(); ++copy) {
    stages.push_back(copy * plan.stages_per_copy() + stage);
  }
  return stages;
}

// The devices that hold the same weights: those of all replicas of the ranks. All such groups
// reduce at the same time, so in a domain of the level below the outermost one every device belongs
// to a group that sends.
std::vector<Collective> weight_groups(const ClusterSpec& cluster, const Plan& plan,
                                      const std::vector<int>& ranks,
                                      const std::vector<int>& tensor_ranks) {
  std::vector<Collective> groups;
  std::vector<int> devices(static_cast<std::size_t>(plan.data) * ranks.size());
  for (const int t : tensor_ranks) {
    auto device = devices.begin();
    for (const int rank : ranks) {
      for (int d = 0; d < plan.data; ++d) *device++ = device_of(plan, rank, d, t);
    }
    std::sort(devices.begin(), devices.end());
    Collective one{group_shape(cluster, devices), 1};
    if (!one.group.levels.empty()) {
      const int top = static_cast<int>(one.group.levels.size()) - 1;
      const int together = std::min(lower_domain_size(cluster, top), plan.devices());
      one.rings = std::max(together / one.group.levels.back().members, 1);
    }
    add_distinct(groups, std::move(one));
  }
  return groups;
}

// Most devices of one pipeline rank, over its replicas and tensor ranks, in a domain of this size.
int most_in_one_domain(const Plan& plan, int rank, int domain_size) {
  int most = 0, here = 0, domain = -1;
  for (int d = 0; d < plan.data; ++d) {
    for (int t = 0; t < plan.tensor; ++t) {
      const int of_device = device_of(plan, rank, d, t) / domain_size;
      if (of_device != domain) here = 0;
      domain = of_device;
      most = std::max(most, ++here);
    }
  }
  return most;
}

// One device per stage that holds the tied weights, of one replica and tensor rank; the others'
// groups lie beside it and share its wires.
std::vector<Collective> tied_groups(const ClusterSpec& cluster, const Plan& plan,
                                    const std::vector<int>& stages,
                                    const std::vector<int>& tensor_ranks) {
  const std::vector<int> ranks = ranks_of(plan, stages);
  std::vector<Collective> groups;
  if (ranks.size() < 2) return groups;
  std::vector<int> devices(ranks.size());
  for (int d = 0; d < plan.data; ++d) {
    for (const int t : tensor_ranks) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        devices[i] = device_of(plan, ranks[i], d, t);
      }
      add_distinct(groups, {group_shape(cluster, devices), 1});
    }
  }
  for (Collective& each : groups) {
    const int lower = lower_domain_size(cluster, static_cast<int>(each.group.levels.size()) - 1);
    for (const int rank : ranks) {
      each.rings = std::max(each.rings, most_in_one_domain(plan, rank, lower));
    }
  }
  return groups;
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

void price_ties(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan,
                const std::vector<int>& tensor_ranks, StepPrices& prices) {
  for (const TiedWeights& tied : profile.tied_weights) {
    const std::vector<int> holders = holding_stages(plan, tied);
    if (holders.size() < 2) continue;
    PlanTie tie{tied.name, {}};
    for (int copy = 0; copy < plan.copies(); ++copy) {
      for (const int stage : holders) {
        tie.stages.push_back(copy * plan.stages_per_copy() + stage);
      }
    }
    const auto groups = tied_groups(cluster, plan, tie.stages, tensor_ranks);
    const Bytes bytes = profile.training.bytes_per_gradient *
                        needed_parameters(tied.parameters, tied.name, plan.tensor);
    prices.tied_reduce.push_back(
        {slowest(cluster, CollectiveKind::kAllReduce, groups, bytes), Duration{}});
    prices.ties.push_back(std::move(tie));
    mark_levels(groups, prices.level_used);
  }
}

Price price_norm(const ClusterSpec& cluster, const Plan& plan, StepPrices& prices) {
  std::vector<int> job(static_cast<std::size_t>(plan.devices()));
  std::iota(job.begin(), job.end(), 0);
  const std::vector<Collective> all{{group_shape(cluster, job), 1}};
  mark_levels(all, prices.level_used);
  return {slowest(cluster, CollectiveKind::kAllReduce, all, kNormBytes), Duration{}};
}

StepPrice stage_state(const TrainingState& training, const Plan& plan, std::int64_t parameters) {
  StepPrice step;
  step.parameters = training.bytes_per_parameter * parameters;
  step.gradients = training.bytes_per_gradient * parameters;
  step.optimizer_state = training.optimizer_bytes_per_parameter * parameters;
  if (plan.zero1) {
    step.optimizer_state = {rounded_up(step.optimizer_state.count, plan.weight_copies())};
  }
  return step;
}

// Of the stages of one copy.
void reduce_gradients(const ClusterSpec& cluster, const Plan& plan,
                      const std::vector<int>& tensor_ranks, StepPrices& prices) {
  const auto kind = plan.zero1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const PriceFactors factors = factors_for(cluster, plan.device);
  // By the first rank that holds a stage: ranks that share one stage share all of theirs.
  std::vector<std::vector<Collective>> groups_of(static_cast<std::size_t>(plan.pipeline));
  for (std::size_t s = 0; s < prices.step.size(); ++s) {
    const auto ranks = ranks_of(plan, in_all_copies(plan, static_cast<int>(s)));
    std::vector<Collective>& groups = groups_of[static_cast<std::size_t>(ranks.front())];
    if (groups.empty()) {
      groups = weight_groups(cluster, plan, ranks, tensor_ranks);
      mark_levels(groups, prices.level_used);
    }
    StepPrice& step = prices.step[s];
    step.reduce_gradient.duration =
        scaled(slowest(cluster, kind, groups, step.gradients), factors.reduction) +
        whole_nanoseconds(factors.reduction_ps_per_byte *
                          static_cast<double>(step.gradients.count) / 1000.0);
    if (!plan.zero1) continue;
    step.unshard.duration = slowest(cluster, CollectiveKind::kAllGather, groups, step.parameters);
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

std::vector<int> distinct_tensor_ranks(const ClusterSpec& cluster, const Plan& plan) {
  const bool whole_groups =
      std::all_of(cluster.levels.begin(), cluster.levels.end(),
                  [&](const LinkLevel& level) { return level.devices % plan.tensor == 0; });
  std::vector<int> ranks(whole_groups ? 1 : static_cast<std::size_t>(plan.tensor));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

StepPrices price_steps(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan) {
  StepPrices prices;
  prices.level_used.resize(cluster.levels.size());
  const std::vector<int> tensor_ranks = distinct_tensor_ranks(cluster, plan);
  for (const std::int64_t parameters : stage_parameters(profile, plan)) {
    StepPrice& step = prices.step.emplace_back(stage_state(profile.training, plan, parameters));
    step.optimizer.duration = optimizer_time(profile.training, cluster, plan, parameters);
  }
  if (plan.weight_copies() > 1) reduce_gradients(cluster, plan, tensor_ranks, prices);
  const std::vector<StepPrice> of_copy = prices.step;
  for (int copy = 1; copy < plan.copies(); ++copy) {
    prices.step.insert(prices.step.end(), of_copy.begin(), of_copy.end());
  }
  price_ties(profile, cluster, plan, tensor_ranks, prices);
  if (plan.devices() > 1) prices.norm = price_norm(cluster, plan, prices);
  return prices;
}

}  // namespace penstock
