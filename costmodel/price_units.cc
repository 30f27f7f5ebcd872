// The rule is that of PyTorch's fully_shard, which DeepSpeed's ZeRO-3 and Megatron's FSDP share:
// while section i computes, the weights of the next one arrive and the gradients of the one before
// leave, on two streams but one set of links, so that their times add up. With F, B the compute,
// AG the gathers and RS the scatters of the sections 1 .. L:
//
//   forward   AG_1 + sum of max(F_i, AG_i+1)
//   backward  sum of max(B_i, AG_i-1 + RS_i+1) + RS_1      (section L is still whole)
//
// Where the backward does not gather ahead (BACKWARD_POST of the first FSDP, which Composer asks
// for), AG_i-1 begins when B_i has ended, before RS_i on the same communicator:
//
//   backward  sum of (max(B_i, RS_i+1) + AG_i-1) + RS_1
//
// Copies between the buffers of the collectives and the tensors of a section are compute.
// Where a processor carries its messages itself (ClusterSpec::measured_executor) nothing runs
// beside compute: the collective's thread and the one that computes take turns, so that all of a
// gather, a scatter and a reduction adds to it. Our runtime, which gathers in place, copies
// nothing. Where the shards lie in several groups (HSDP) each scatter is followed by an all-reduce
// of its part over the groups, one after the other on other links; the step waits for the last.
#include "costmodel/price_units.h"

#include <algorithm>
#include <string_view>

#include "core/values/held_parameters.h"
#include "core/values/term_names.h"
#include "costmodel/interpolate.h"
#include "costmodel/links.h"
#include "costmodel/step_prices.h"

namespace penstock {
namespace {

// What copies get of the datasheet's memory bandwidth: assumed, as of large copies everywhere.
constexpr double kCopyShare = 0.9;

// What NCCL's kernels take of the processors beside it, 5 and 16 of an H100's 132, inside a node
// and beyond (Megatron-LM, distributed_data_parallel_config.py: collectives without buffers of
// their own); of other devices the same share, assumed. So much longer does compute take while a
// gather or a scatter runs; the all-reduce of HSDP is not counted.
constexpr double kBusyInNode = 5.0 / 132.0, kBusyBetweenNodes = 16.0 / 132.0;

double busy_share(const std::vector<Collective>& groups) {
  const bool leaves_node = std::any_of(groups.begin(), groups.end(), [](const Collective& each) {
    return each.group.levels.size() > 1;
  });
  return leaves_node ? kBusyBetweenNodes : kBusyInNode;
}

// Any section has a term of that name.
bool has_term(const ModelProfile& profile, std::string_view name) {
  return std::any_of(
      profile.section_types.begin(), profile.section_types.end(), [&](const SectionType& type) {
        if (type.measurements.empty()) return false;
        const std::vector<TimeTerm>& terms = type.measurements.front().terms;  // as of all its rows
        return std::any_of(terms.begin(), terms.end(),
                           [&](const TimeTerm& term) { return term.name == name; });
      });
}

Duration slowest(const ClusterSpec& cluster, CollectiveKind kind,
                 const std::vector<Collective>& groups, Bytes bytes) {
  Duration time{};
  for (const Collective& each : groups) {
    time = std::max(time, group_time(cluster, kind, each.group, bytes, each.rings));
  }
  return time;
}

// What moves for a section, whatever its micro-batch; by type of section.
class Traffic {
 public:
  Traffic(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan)
      : profile_(profile), wiring_(wiring), plan_(plan), of_type_(profile.section_types.size()) {
    const DeviceType& device = *find_device_type(wiring.cluster(), plan.device);
    const auto& executor = wiring.cluster().measured_executor;
    carries_messages_ = executor && executor->is_priced;
    const bool copies = plan.sharding == Sharding::kFsdp && !carries_messages_;
    // Of a measured profile nobody said that NCCL does it.
    shares_processors_ = !carries_messages_ && profile.training.bucket_parameters > 0;
    copy_rate_ = copies ? kCopyShare * device.memory_bandwidth.value : 0;
    // Backwards hold sums of gradients over micro-batches, as estimates of compiled code do.
    adds_gradients_ = has_term(profile, kGradientSums);
    // Only the first FSDP knows of BACKWARD_POST; ZeRO-3 gathers ahead anyway.
    gathers_late_ = plan.sharding == Sharding::kFsdp && has_term(profile, kGathersWaitedFor);
    for (std::size_t type = 0; type < of_type_.size(); ++type) of_type_[type] = of(type);
  }

  [[nodiscard]] const UnitTimes& of_section(std::size_t section) const {
    return of_type_[static_cast<std::size_t>(profile_.sections[section].type)];
  }

 private:
  // The devices that have the shards of some weights, and those with the same shard.
  struct Holders {
    const std::vector<Collective>& shard;
    const std::vector<Collective>& same;
    int shards = 1;
  };

  [[nodiscard]] UnitTimes of(std::size_t type) const {
    UnitTimes unit;
    unit.gathers_late = gathers_late_;
    const auto held =
        held_parameters(profile_.section_types[type], plan_.tensor, plan_.other_degrees());
    if (!held) return unit;  // of no section of the plan
    add(held->all - held->experts,
        {wiring_.shard_groups(0), wiring_.same_shard_groups(0), plan_.shards()}, unit);
    if (held->experts > 0 && plan_.expert_copies() > 1) {
      add(held->experts,
          {wiring_.expert_shard_groups(0), wiring_.same_expert_shard_groups(0),
           plan_.expert_shards()},
          unit);
    }
    return unit;
  }

  void add(std::int64_t parameters, const Holders& holders, UnitTimes& unit) const {
    const ClusterSpec& cluster = wiring_.cluster();
    const TrainingState& training = profile_.training;
    const Bytes weights = training.bytes_per_parameter * parameters;
    const Bytes gradients = training.bytes_per_gradient * parameters;
    const PriceFactors factors = factors_for(cluster, plan_.device);
    const double busy = shares_processors_ ? busy_share(holders.shard) : 0.0;
    if (plan_.gathers_by_section()) {
      const Duration gather = slowest(cluster, CollectiveKind::kAllGather, holders.shard, weights);
      unit.gather += gather;
      unit.gather_busy += scaled(gather, busy);
      // The first FSDP, which alone knows of BACKWARD_POST, gathers into one flat tensor and uses
      // views of it (torch/distributed/fsdp/_flat_param.py).
      if (!gathers_late_) unit.gather_copy += copy_time(weights + weights);
    }
    const Duration scatter =
        scaled(slowest(cluster, CollectiveKind::kReduceScatter, holders.shard, gradients),
               factors.reduction) +
        whole_nanoseconds(factors.reduction_ps_per_byte * static_cast<double>(gradients.count) /
                          1000.0);
    unit.scatter += scatter;
    unit.scatter_busy += scaled(scatter, busy);
    const Bytes shard{(gradients.count + holders.shards - 1) / holders.shards};
    unit.reduce += scaled(slowest(cluster, CollectiveKind::kAllReduce, holders.same, shard),
                          factors.reduction);
    unit.scatter_copy +=
        copy_time(adds_gradients_ ? more_than(gradients, weights) : weights + gradients);
    if (carries_messages_) {
      unit.gather_busy = unit.gather;
      unit.scatter_busy = unit.scatter + unit.reduce;
    }
  }

  // What copies, which move weights and gradients, move more than sums, which move gradients twice.
  static Bytes more_than(Bytes gradients, Bytes weights) {
    return {std::max<std::int64_t>(weights.count - gradients.count, 0)};
  }

  [[nodiscard]] Duration copy_time(Bytes bytes) const {
    if (copy_rate_ <= 0.0) return {};
    return whole_nanoseconds(static_cast<double>(bytes.count) / copy_rate_ * 1e9);
  }

  const ModelProfile& profile_;
  const PlanWiring& wiring_;
  const Plan& plan_;
  bool carries_messages_ = false;  // the rank's processor does
  bool shares_processors_ = false;
  // Backwards hold the reading and writing of gradients that they add to. FSDP adds up shards only:
  // its copies take the place of that.
  bool adds_gradients_ = false;
  bool gathers_late_ = false;
  double copy_rate_ = 0.0;
  std::vector<UnitTimes> of_type_;
};

// When the reductions over groups are done, which follow the scatters one by one.
class Reductions {
 public:
  void add(Duration from, Duration time) {
    if (time > Duration{}) end_ = std::max(end_, from) + time;
  }
  [[nodiscard]] Duration end() const { return end_; }

 private:
  Duration end_{};
};

Duration forward_of(const std::vector<UnitTimes>& units) {
  Duration time = units.front().gather;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool is_last = i + 1 == units.size();
    const Duration next = is_last ? Duration{} : units[i + 1].gather;
    const Duration busy = is_last ? Duration{} : units[i + 1].gather_busy;
    time += std::max(units[i].forward + units[i].gather_copy + busy, next);
  }
  return time;
}

Duration backward_of(const std::vector<UnitTimes>& units) {
  Duration time{};
  Reductions reductions;
  for (std::size_t i = units.size(); i-- > 0;) {
    const bool is_last = i + 1 == units.size();
    const Duration gathers = i > 0 ? units[i - 1].gather : Duration{};
    const bool late = i > 0 && units[i - 1].gathers_late;
    const Duration scatters = is_last ? Duration{} : units[i + 1].scatter;
    if (!is_last) reductions.add(time + scatters, units[i + 1].reduce);
    const Duration copies = units[i].scatter_copy + (is_last ? Duration{} : units[i].gather_copy);
    Duration busy = i > 0 && !late ? units[i - 1].gather_busy : Duration{};
    if (!is_last) busy += units[i + 1].scatter_busy;
    const Duration compute = units[i].backward + copies + busy;
    time += late ? std::max(compute, scatters) + gathers : std::max(compute, gathers + scatters);
  }
  time += units.front().scatter;
  reductions.add(time, units.front().reduce);
  return std::max(time, reductions.end());
}

}  // namespace

UnitsTime run_units(const std::vector<UnitTimes>& units) {
  if (units.empty()) return {};
  return {forward_of(units), backward_of(units)};
}

void price_units(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan,
                 const RankTables& tables, StagePrices& prices) {
  if (!plan.reduces_by_section()) return;
  const Traffic traffic(profile, wiring, plan);
  for (std::size_t shape = 0; shape < prices.compute.size(); ++shape) {
    const SectionTable& table = *tables[0][shape];
    std::vector<UnitTimes> units;
    units.reserve(table.sections.size());
    Duration forward{}, backward{};
    for (std::size_t i = 0; i < table.sections.size(); ++i) {
      const ComputePrice& price = table.sections[i].price;
      units.push_back(traffic.of_section(i));
      units.back().forward = price.forward.duration;
      units.back().backward = price.fused_backward.duration + price.recompute.duration;
      forward += units.back().forward;
      backward += units.back().backward;
    }
    const UnitsTime time = run_units(units);
    ComputePrice& compute = prices.compute[shape];
    compute.forward_sharded = time.forward - forward;
    compute.backward_sharded = time.backward - backward;
    compute.forward.duration += compute.forward_sharded;
    compute.fused_backward.duration += compute.backward_sharded;
  }
}

}  // namespace penstock
