// The full product of all degrees would be endless, so each range is thinned by a rule that does
// not depend on costs: micro-batch sizes are all tried up to eight and then in powers of two, few
// chunks first, replicas that load evenly, device counts by halves. What is left out is said in the
// answer (not_searched). Groups come in a fixed order, which is the order in which ties are
// decided. Each key is priced and has its groups listed by itself, so threads share the keys out.
//
// Invariant: every candidate that fits the request's pins and the thinning rules is in exactly one
// group.
#include "search/candidates.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/values/error.h"
#include "core/values/expert_grid.h"
#include "core/values/rule_facts.h"
#include "search/candidate_choices.h"
#include "search/divided_sequences.h"
#include "search/in_parallel.h"
#include "search/key_costs.h"
#include "search/plan_program.h"

namespace penstock {
namespace {

constexpr int kEverySizeUpTo = 8;  // micro-batch sizes 1..8 are all tried
constexpr int kFewOfALoad = 8;     // likewise of those that have one load

template <class Value, class Like>
bool contains(const std::vector<Value>& values, const Like& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<int> micro_batch_sizes(const PlanInputs& inputs, const SearchRequest& request,
                                   const std::string& device, int tensor,
                                   const OtherDegrees& others, int sequence_length,
                                   const std::string& mode) {
  if (request.pins.micro_batch_size) return {*request.pins.micro_batch_size};
  const auto measured =
      measured_micro_batch_sizes(*inputs.profile, device, tensor, sequence_length, mode, others);
  if (measured.empty()) return {1};
  std::set<int> sizes(measured.begin(), measured.end());
  const int most = *sizes.rbegin();
  for (int b = 1; b <= std::min(most, kEverySizeUpTo); ++b) sizes.insert(b);
  for (int b = 1; b <= most; b *= 2) sizes.insert(b);
  return {sizes.begin(), sizes.end()};
}

// Why these degrees cannot be placed; empty when they can. Ranks that divide a sequence fill a part
// of a node, or whole nodes.
std::string degrees_why_not(const DeviceCluster& cluster, int tensor, int context) {
  for (const int devices : cluster.node_sizes) {
    if (devices % tensor == 0) {
      const int inner = tensor * context;
      if (devices % inner == 0 || inner % devices == 0) continue;
      return "T C = " + std::to_string(inner) + " neither divides the " + std::to_string(devices) +
             " devices of a node nor fills whole nodes";
    }
    return "tensor degree " + std::to_string(tensor) + " does not divide the " +
           std::to_string(devices) + " devices of a node: its measured times hold inside one node";
  }
  return "";
}

bool has_last_rank_that_keeps(const SearchRequest& request) {
  const auto kinds = schedule_kinds();
  return std::any_of(kinds.begin(), kinds.end(), [&](const ScheduleKind& kind) {
    return facts_of(kind.rule).last_rank_keeps && is_enumerated(request, kind);
  });
}

class Enumeration {
 public:
  Enumeration(const PlanInputs& inputs, const SearchRequest& request)
      : inputs_(inputs),
        request_(request),
        sections_(static_cast<int>(inputs.profile->sections.size())),
        last_rank_may_keep_(has_last_rank_that_keeps(request)) {}

  SearchSpace run() {
    for (const std::string& device : device_types_in_use(*inputs_.cluster)) {
      if (request_.pins.device && *request_.pins.device != device) continue;
      space_.devices.push_back(device_cluster(*inputs_.cluster, device, inputs_.reserve));
      add_device(static_cast<int>(space_.devices.size()) - 1);
    }
    add_of_keys([this](int key, Part& part) {
      sum_up(key);
      add_groups(key, part);
    });
    sort_by_bound();
    return std::move(space_);
  }

  SearchSpace run_others(SearchSpace space, const Incumbents& known) {
    space_ = std::move(space);
    space_.groups.clear();
    space_.candidates = space_.bounded = 0;
    space_.rejected = {};
    add_of_keys([&](int key, Part& part) {
      const bool is_possible = space_.keys[static_cast<std::size_t>(key)].why_not.empty();
      if (is_possible) add_others(key, known, part);
    });
    sort_by_bound();
    return std::move(space_);
  }

 private:
  // Of one key.
  struct Part {
    std::vector<CandidateGroup> groups;
    std::int64_t candidates = 0, bounded = 0;
    Rejections rejected;
  };

  // `add` changes nothing but its key and its part; parts are put together in the order of keys.
  template <class Add>
  void add_of_keys(Add add) {
    std::vector<Part> parts(space_.keys.size());
    in_parallel(request_.threads, parts.size(),
                [&](std::size_t key) { add(static_cast<int>(key), parts[key]); });
    std::size_t groups = 0;
    for (const Part& part : parts) groups += part.groups.size();
    space_.groups.reserve(groups);
    for (Part& part : parts) {
      std::move(part.groups.begin(), part.groups.end(), std::back_inserter(space_.groups));
      space_.candidates += part.candidates;
      space_.bounded += part.bounded;
      space_.rejected.merge(part.rejected);
    }
  }

  void sort_by_bound() {
    std::stable_sort(
        space_.groups.begin(), space_.groups.end(),
        [](const CandidateGroup& a, const CandidateGroup& b) { return a.bound < b.bound; });
  }

  void add_others(int key, const Incumbents& known, Part& part) const {
    const SearchKey& of = space_.keys[static_cast<std::size_t>(key)];
    const int inner = of.devices_per_rank();
    const int multiple = replicas_multiple(of.others, of.tensor);
    const DeviceCluster& cluster =
        space_.devices[static_cast<std::size_t>(space_.keys[static_cast<std::size_t>(key)].device)];
    const int devices = std::min(request_.gpus, cluster.devices);
    const KeyCosts costs = costs_of(space_.keys[static_cast<std::size_t>(key)]);
    for (int p = 1; p <= std::min(sections_, devices / inner); ++p) {
      if (!allowed(request_.pins.pipeline, p)) continue;
      const int replica = p * inner;
      if (std::min(devices / replica, request_.global_batch) <= kFewReplicas) break;
      const auto schedules = choices_of(key, p);
      // With a pipeline all but one replica have the same choices.
      std::int64_t of_several = 0;
      const std::set<int> known_degrees = data_degrees(request_, devices, replica, multiple);
      for (const int d : useful_degrees(devices / replica)) {
        if (known_degrees.contains(d) || d % multiple != 0) continue;
        CandidateGroup group;
        group.key = key;
        group.pipeline = p;
        group.data = d;
        group.candidates = of_several;
        if (p == 1 || d == 1 || of_several == 0) {
          group.candidates = candidates_of(request_, of, schedules, shardings_of(key, p, d), p, d);
          if (p > 1 && d > 1) of_several = group.candidates;
        }
        group.devices = replica * d;
        if (losing(costs, group, known)) {
          part.candidates += group.candidates;
          part.bounded += group.candidates;
        } else {
          add_group(group, part);
        }
      }
    }
  }

  // Of the numbers of replicas with one load: all if they are few, else the fewest (least to send)
  // and the most (least to hold with ZeRO-1).
  [[nodiscard]] std::vector<int> useful_degrees(int most) const {
    std::vector<int> degrees;
    for (int d = std::min(most, request_.global_batch); d >= 1;) {
      const int load = (request_.global_batch + d - 1) / d;
      const int fewest = (request_.global_batch + load - 1) / load;
      if (d - fewest < kFewOfALoad) {
        for (int each = d; each >= fewest; --each) degrees.push_back(each);
      } else {
        degrees.push_back(d);
        degrees.push_back(fewest);
      }
      d = fewest - 1;
    }
    return degrees;
  }

  [[nodiscard]] bool losing(const KeyCosts& costs, const CandidateGroup& group,
                            const Incumbents& known) const {
    if (!request_.bounds) return false;
    const int b = space_.keys[static_cast<std::size_t>(group.key)].micro_batch_size;
    const int samples = (request_.global_batch + group.data - 1) / group.data;
    if (samples < b) return false;  // may be no candidate at all
    return !known.may_matter(bound_of(costs, group.pipeline, samples / b), group.devices, Bytes{});
  }

  void add_device(int device) {
    const std::string& name = space_.devices[static_cast<std::size_t>(device)].device.name;
    auto degrees = measured_tensor_degrees(*inputs_.profile, name);
    auto modes = measured_recompute_modes(*inputs_.profile, name);
    if (request_.pins.tensor) degrees = {*request_.pins.tensor};
    if (request_.pins.recompute) {
      const bool keeps = request_.pins.recompute_as_needed && contains(modes, "none");
      modes = {*request_.pins.recompute};
      if (keeps) modes.insert(modes.begin(), "none");
    }
    const std::vector<int> contexts = context_degrees(name);
    if (degrees.empty() || modes.empty()) {
      Plan plan;
      plan.device = name;
      space_.candidates += 1;
      space_.rejected.add("the profile has no measurements for device '" + name + "'", 1, plan);
      return;
    }
    for (const int tensor : degrees) {
      for (const int context : contexts) {
        for (const auto& [expert, within] : expert_degrees(name, tensor)) {
          const ContextKind kind = request_.pins.context_kind.value_or(ContextKind::kRing);
          const OtherDegrees others(context, expert, within,
                                    context > 1 ? kind : ContextKind::kRing);
          for (const std::string& mode : modes) add_mode(device, tensor, others, mode);
        }
      }
    }
  }

  // Where experts lie on ranks of their own those are whole, unless that is pinned.
  [[nodiscard]] std::vector<std::pair<int, int>> expert_degrees(const std::string& device,
                                                                int tensor) const {
    const Pins& pins = request_.pins;
    if (pins.expert && pins.expert_tensor) {
      return {{*pins.expert, *pins.expert_tensor == tensor ? 0 : *pins.expert_tensor}};
    }
    std::vector<std::pair<int, int>> degrees;
    for (const auto& [expert, within] : measured_expert_degrees(*inputs_.profile, device, tensor)) {
      const int ranks = within > 0 ? within : tensor;
      const bool usual = expert == 1 ? ranks == tensor : ranks == 1;
      const bool wanted = pins.expert_tensor ? ranks == *pins.expert_tensor : usual;
      if (wanted && allowed(pins.expert, expert)) degrees.emplace_back(expert, within);
    }
    if (degrees.empty() && pins.expert) degrees.emplace_back(*pins.expert, tensor > 1 ? 1 : 0);
    return degrees;
  }

  // Short sequences are divided where that is asked for, long ones as trainers divide them.
  [[nodiscard]] std::vector<int> context_degrees(const std::string& device) const {
    if (request_.pins.context) return {*request_.pins.context};
    std::vector<int> degrees = measured_context_degrees(*inputs_.profile, device);
    const int length = length_on(device);
    const int most = length < kHalvedSequence ? 1 : length < kLongSequence ? 2 : length;
    const bool has_whole = contains(degrees, 1);
    std::erase_if(degrees, [&](int c) {
      return c > 1 && ((has_whole && c > most) || length % (2 * c) != 0);
    });
    return degrees;
  }
  [[nodiscard]] int length_on(const std::string& device) const {
    return request_.sequence_length > 0 ? request_.sequence_length
                                        : default_sequence_length(*inputs_.profile, device);
  }

  void add_mode(int device, int tensor, const OtherDegrees& others, const std::string& mode) {
    const DeviceCluster& cluster = space_.devices[static_cast<std::size_t>(device)];
    const int length = length_on(cluster.device.name);
    for (const int b :
         micro_batch_sizes(inputs_, request_, cluster.device.name, tensor, others, length, mode)) {
      SearchKey key;
      key.device = device;
      key.tensor = tensor;
      key.others = others;
      key.recompute = mode;
      key.micro_batch_size = b;
      space_.keys.push_back(std::move(key));
    }
  }

  void sum_up(int index) {
    SearchKey& key = space_.keys[static_cast<std::size_t>(index)];
    const DeviceCluster& cluster = space_.devices[static_cast<std::size_t>(key.device)];
    const auto sums_in_mode = [&](const std::string& mode) {
      const std::string& name = cluster.device.name;
      return sum_sections(*inputs_.profile, cluster.spec, name, key.tensor, key.micro_batch_size,
                          length_on(name), mode, key.others);
    };
    key.sums = sums_in_mode(key.recompute);
    key.why_not = degrees_why_not(cluster, key.tensor, key.others.context);
    if (key.why_not.empty()) key.why_not = key.sums.why_not;
    if (!key.why_not.empty()) return;
    key.splitting_may_pay = key.sums.split_work.back() < key.sums.work.back();
    if (!last_rank_may_keep_ || key.recompute == "none") return;
    key.kept = std::make_shared<const SectionSums>(sums_in_mode("none"));
    if (!key.kept->why_not.empty()) key.kept.reset();  // and no such schedule has prices
  }

  [[nodiscard]] std::size_t choices_of(int key, int pipeline) const {
    const bool may_pay = space_.keys[static_cast<std::size_t>(key)].splitting_may_pay;
    return schedule_choices(request_, sections_, pipeline, ChunkRange::kFew, may_pay).size();
  }

  [[nodiscard]] std::size_t shardings_of(int key, int pipeline, int data) const {
    return shardings_of_key(space_, request_, key, pipeline, data).size();
  }

  void add_groups(int key, Part& part) const {
    const SearchKey& of = space_.keys[static_cast<std::size_t>(key)];
    const int inner = of.devices_per_rank();
    const int multiple = replicas_multiple(of.others, of.tensor);
    const DeviceCluster& cluster = space_.devices[static_cast<std::size_t>(of.device)];
    const int devices = std::min(request_.gpus, cluster.devices);
    for (int p = 1; p <= std::min(sections_, devices / inner); ++p) {
      if (!allowed(request_.pins.pipeline, p)) continue;
      const auto schedules = choices_of(key, p);
      for (const int d : data_degrees(request_, devices, p * inner, multiple)) {
        CandidateGroup group;
        group.key = key;
        group.pipeline = p;
        group.data = d;
        group.candidates = candidates_of(request_, of, schedules, shardings_of(key, p, d), p, d);
        add_group(group, part);
      }
    }
  }

  void add_group(CandidateGroup group, Part& part) const {
    const SearchKey& key = space_.keys[static_cast<std::size_t>(group.key)];
    const Plan plan = plan_of(space_, request_, group);
    const ReplicaLoad load = first_load(plan);
    const bool pinned = request_.pins.micro_batch_size.has_value();
    if (group.candidates == 0 || (load.full == 0 && !pinned)) return;
    part.candidates += group.candidates;
    if (!key.why_not.empty()) {
      part.rejected.add(key.why_not, group.candidates, plan);
      return;
    }
    if (const std::string why = why_no_experts(key, group, plan); !why.empty()) {
      part.rejected.add(why, group.candidates, plan);
      return;
    }
    group.bound = bound_of(costs_of(key), group.pipeline, load.full);
    const DeviceCluster& cluster = space_.devices[static_cast<std::size_t>(key.device)];
    // Some rank holds at least the mean of what must be held for the whole step.
    const Bytes state = least_state(inputs_, request_, key, group.pipeline, group.data);
    group.least_memory = Bytes{state.count / group.pipeline} + cluster.reserve;
    group.devices = plan.devices();
    group.replay_size = std::int64_t{group.pipeline} * load.micro_batches;
    if (group.least_memory > cluster.device.memory) {
      const Bytes over = group.least_memory - cluster.device.memory;
      part.rejected.add({"parameters, gradients and optimizer state alone over memory",
                         group.candidates, over, over, ""},
                        group.candidates, plan);
      return;
    }
    part.groups.push_back(std::move(group));
  }

  // Of the group's placements one that is possible counts.
  [[nodiscard]] std::string why_no_experts(const SearchKey& key, const CandidateGroup& group,
                                           Plan plan) const {
    const int pinned = request_.pins.shard_group.value_or(0);
    if (pinned != plan.weight_copies()) plan.shard_group = pinned;
    std::string why;
    for (const Placement placement : placement_choices(request_, key, group.pipeline, group.data)) {
      plan.placement = placement;
      why = why_no_expert_grid(plan);
      if (why.empty()) break;
    }
    return why;
  }

  const PlanInputs& inputs_;
  const SearchRequest& request_;
  int sections_;
  bool last_rank_may_keep_;  // a schedule of the space recomputes on all ranks but the last
  SearchSpace space_;
};

}  // namespace

SearchSpace enumerate(const PlanInputs& inputs, const SearchRequest& request) {
  return Enumeration(inputs, request).run();
}

SearchSpace enumerate_other_degrees(const PlanInputs& inputs, const SearchRequest& request,
                                    SearchSpace space, const Incumbents& known) {
  return Enumeration(inputs, request).run_others(std::move(space), known);
}

SearchSpace with_more_chunks(const PlanInputs& inputs, const SearchRequest& request,
                             SearchSpace space, const Incumbents& known) {
  const auto sections = static_cast<int>(inputs.profile->sections.size());
  std::vector<std::size_t> choices;  // by P
  for (int p = 0; p <= sections; ++p) {
    choices.push_back(p < 2 ? 0 : schedule_choices(request, sections, p, ChunkRange::kMore).size());
  }
  space.candidates = space.bounded = 0;
  space.rejected = {};
  std::vector<CandidateGroup> groups;
  for (CandidateGroup& group : space.groups) {
    group.chunks = ChunkRange::kMore;
    const std::size_t shardings =
        shardings_of_key(space, request, group.key, group.pipeline, group.data).size();
    group.candidates = candidates_of(request, space.keys[static_cast<std::size_t>(group.key)],
                                     choices[static_cast<std::size_t>(group.pipeline)], shardings,
                                     group.pipeline, group.data);
    space.candidates += group.candidates;
    if (group.candidates == 0) continue;
    if (request.bounds && !known.may_lead(group.bound, group.devices, request.sizes.size())) {
      space.bounded += group.candidates;
      continue;
    }
    groups.push_back(std::move(group));
  }
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const CandidateGroup& a, const CandidateGroup& b) { return a.bound < b.bound; });
  space.groups = std::move(groups);
  return space;
}

}  // namespace penstock
