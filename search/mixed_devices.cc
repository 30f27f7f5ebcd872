// Enumerates, for every ordered choice of types, every number of ranks on each of them, with the T,
// mode and b that all can use. That is many, so a mix is first held against bounds that need no
// cuts: the work of all sections at the summed speed of the ranks, the way through the pipeline
// with each section on its fastest type, and the filling of the ranks (mixed_fill.h). A bound
// rounds down by a factor just below 1, for what doubles round.
#include "search/mixed_devices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace penstock {
namespace {

// What the sections cost on several types, for bounds that hold however they are spread.
class MixedCosts {
 public:
  // `kept`: SearchKey::kept of the types.
  MixedCosts(const std::vector<const SectionSums*>& types,
             const std::vector<const SectionSums*>& kept)
      : types_(types), kept_(kept), speeds_(types.size(), std::vector<double>(types.size(), 0.0)) {
    const std::size_t sections = types[0]->mixed_work.size() - 1;
    for (std::size_t i = 0; i < sections; ++i) add_section(i);
  }

  // Some rank takes at least so long for a micro-batch. A rank that takes t does work that a
  // reference type would need at most t * speed for, so all ranks together t * (sum of speeds).
  [[nodiscard]] std::int64_t mean(const std::vector<int>& ranks) const {
    double best = 0.0;
    for (std::size_t reference = 0; reference < types_.size(); ++reference) {
      double together = 0.0;
      double fastest = 0.0;
      for (std::size_t t = 0; t < ranks.size(); ++t) {
        together += ranks[t] * speeds_[reference][t];
        fastest = std::max(fastest, speeds_[reference][t]);
      }
      together += most_kept_ * fastest;
      const auto work = static_cast<double>(types_[reference]->mixed_work.back());
      if (together > 0.0) best = std::max(best, work / together);
    }
    constexpr double kRounding = 1.0 - 1e-9;
    return static_cast<std::int64_t>(kRounding * best);
  }
  // Of one section on its fastest type.
  [[nodiscard]] std::int64_t longest_section() const { return longest_; }
  // All the way there and back, every section on its fastest type.
  [[nodiscard]] std::int64_t path() const { return path_; }

 private:
  void add_section(std::size_t i) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    std::int64_t least_work = kMost, least_path = kMost;
    for (std::size_t t = 0; t < types_.size(); ++t) {
      const SectionSums& sums = *types_[t];
      const auto part = [i](const std::vector<std::int64_t>& prefix) {
        return prefix[i + 1] - prefix[i];
      };
      const auto path = [&](const SectionSums& of) {
        return part(of.forward) + part(of.first_gradient) + part(of.recompute);
      };
      least_work = std::min(least_work, part(sums.mixed_work));
      least_path = std::min(least_path, path(sums));
      if (kept_[t] != nullptr) {
        const std::int64_t kept = part(kept_[t]->mixed_work);
        const auto less = static_cast<double>(part(sums.mixed_work) - kept);
        const double ratio = kept > 0     ? less / static_cast<double>(kept)
                             : less > 0.0 ? std::numeric_limits<double>::infinity()
                                          : 0.0;
        most_kept_ = std::max(most_kept_, ratio);
        least_work = std::min(least_work, kept);
        least_path = std::min(least_path, path(*kept_[t]));
      }
      for (std::size_t reference = 0; reference < types_.size(); ++reference) {
        const std::int64_t work = part(types_[reference]->mixed_work);
        if (work == 0) continue;
        const double own = static_cast<double>(part(sums.mixed_work));
        // A type that needs no time at all makes the mean say nothing.
        const double speed =
            own > 0.0 ? static_cast<double>(work) / own : std::numeric_limits<double>::infinity();
        speeds_[reference][t] = std::max(speeds_[reference][t], speed);
      }
    }
    longest_ = std::max(longest_, least_work);
    path_ += least_path;
  }

  const std::vector<const SectionSums*>& types_;
  const std::vector<const SectionSums*>& kept_;
  // [reference][type]: how many times as fast as the reference at most, for one section.
  std::vector<std::vector<double>> speeds_;
  std::int64_t longest_ = 0, path_ = 0;
  double most_kept_ = 0.0;  // what a rank without recomputes saves, as a multiple of what it does
};

class MixedEnumeration {
 public:
  MixedEnumeration(const PlanInputs& inputs, const SearchRequest& request, const SearchSpace& space,
                   const Incumbents& known)
      : inputs_(inputs),
        request_(request),
        space_(space),
        known_(known),
        sections_(static_cast<int>(inputs.profile->sections.size())) {
    for (std::size_t k = 0; k < space.keys.size(); ++k) {
      const SearchKey& key = space.keys[k];
      // Mixed plans divide neither sequences nor experts.
      if (!key.why_not.empty() || key.others.context > 1 || key.others.expert > 1 ||
          key.others.expert_tensor > 0) {
        continue;
      }
      usable_[{key.device, key.tensor, key.recompute, key.micro_batch_size}] = static_cast<int>(k);
    }
    schedules_.reserve(static_cast<std::size_t>(sections_) + 1);
    for (int p = 0; p <= sections_; ++p) {
      schedules_.push_back(p < 2 ? 0 : schedule_choices(request, sections_, p).size());
    }
  }

  MixedGroups run() {
    for (std::size_t types = 2; types <= std::min(kMostTypesInOnePlan, space_.devices.size());
         ++types) {
      add_orders(types);
    }
    std::stable_sort(
        result_.groups.begin(), result_.groups.end(),
        [](const CandidateGroup& a, const CandidateGroup& b) { return a.bound < b.bound; });
    return std::move(result_);
  }

 private:
  // Every ordered choice of so many types.
  void add_orders(std::size_t types) {
    if (chosen_.size() == types) return add_keys();
    for (int device = 0; device < static_cast<int>(space_.devices.size()); ++device) {
      if (std::find(chosen_.begin(), chosen_.end(), device) != chosen_.end()) continue;
      chosen_.push_back(device);
      add_orders(types);
      chosen_.pop_back();
    }
  }

  // T, recompute mode and b that every chosen type can use.
  void add_keys() {
    for (const auto& [of_first, key] : usable_) {
      if (std::get<0>(of_first) != chosen_[0]) continue;
      keys_ = {key};
      for (std::size_t t = 1; t < chosen_.size(); ++t) {
        auto of_other = of_first;
        std::get<0>(of_other) = chosen_[t];
        if (const auto found = usable_.find(of_other); found != usable_.end()) {
          keys_.push_back(found->second);
        }
      }
      if (keys_.size() == chosen_.size()) add_ranks();
    }
  }

  // Every number of ranks on every type.
  void add_ranks() {
    std::vector<const SectionSums*> sums, kept;
    sums.reserve(keys_.size());
    kept.reserve(keys_.size());
    for (const int key : keys_) {
      sums.push_back(&key_of(key).sums);
      kept.push_back(key_of(key).kept.get());
    }
    const MixedCosts costs(sums, kept);
    ranks_.assign(keys_.size(), 1);
    extend(costs, 0);
  }
  void extend(const MixedCosts& costs, std::size_t type) {
    if (type == keys_.size()) return add_replicas(costs);
    const int tensor = key_of(keys_[0]).tensor;
    for (ranks_[type] = 1; ranks_[type] * tensor <= devices_of(type); ++ranks_[type]) {
      const int so_far = std::accumulate(ranks_.begin(),
                                         ranks_.begin() + static_cast<std::ptrdiff_t>(type) + 1, 0);
      const int pipeline = so_far + static_cast<int>(keys_.size() - type) - 1;  // at least
      if (pipeline > sections_ || pipeline * tensor > request_.gpus) break;
      extend(costs, type + 1);
    }
    ranks_[type] = 1;
  }

  void add_replicas(const MixedCosts& costs) {
    const int pipeline = std::accumulate(ranks_.begin(), ranks_.end(), 0);
    if (request_.pins.pipeline.value_or(pipeline) != pipeline) return;
    const int tensor = key_of(keys_[0]).tensor;
    int most = std::numeric_limits<int>::max();
    for (std::size_t t = 0; t < ranks_.size(); ++t) {
      most = std::min(most, devices_of(t) / (ranks_[t] * tensor));
    }
    const int replica = pipeline * tensor;
    for (const int data :
         data_degrees(request_, std::min(request_.gpus, most * replica), replica)) {
      add_group(costs, pipeline, data);
    }
  }

  void add_group(const MixedCosts& costs, int pipeline, int data) {
    CandidateGroup group;
    group.key = keys_[0];
    group.pipeline = pipeline;
    group.data = data;
    group.candidates =
        candidates_of(request_, key_of(group.key), schedules_[static_cast<std::size_t>(pipeline)],
                      sharding_choices(request_, pipeline, data).size(), pipeline, data);
    const SearchKey& key = key_of(group.key);
    const int b = key.micro_batch_size;
    const int samples = (request_.global_batch + data - 1) / data;
    if (group.candidates == 0 || (samples < b && !request_.pins.micro_batch_size)) return;
    result_.candidates += group.candidates;
    const std::int64_t full = samples / b;
    // As on one type (candidates.cc); with two copies of the weights each takes half.
    const std::int64_t work = std::max(costs.mean(ranks_), costs.longest_section() / 2);
    group.bound = Duration{std::max(full * work, full > 0 ? costs.path() : 0)};
    group.devices = pipeline * data * key.tensor;
    const Bytes state = least_state(inputs_, request_, key, pipeline, data);
    Bytes room, reserve = device(0).reserve;
    for (std::size_t t = 0; t < ranks_.size(); ++t) {
      room += (device(t).device.memory - device(t).reserve) * std::int64_t{ranks_[t]};
      reserve = std::min(reserve, device(t).reserve);
    }
    group.least_memory = Bytes{state.count / pipeline} + reserve;
    group.mixed.reserve(ranks_.size());
    for (std::size_t t = 0; t < ranks_.size(); ++t) group.mixed.push_back({keys_[t], ranks_[t]});
    if (state > room) {
      const Bytes over{(state - room).count / pipeline};
      result_.rejected.add({"parameters, gradients and optimizer state alone over memory",
                            group.candidates, over, over, ""},
                           group.candidates, plan_of(space_, request_, group));
    } else if (request_.bounds &&
               !known_.may_matter(group.bound, group.devices, group.least_memory)) {
      result_.bounded += group.candidates;
    } else {
      group.replay_size = std::int64_t{pipeline} * ((samples + b - 1) / b);
      result_.groups.push_back(std::move(group));
    }
  }

  [[nodiscard]] const SearchKey& key_of(int key) const {
    return space_.keys[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] const DeviceCluster& device(std::size_t type) const {
    return space_.devices[static_cast<std::size_t>(chosen_[type])];
  }
  [[nodiscard]] int devices_of(std::size_t type) const {
    return std::min(request_.gpus, device(type).devices);
  }

  const PlanInputs& inputs_;
  const SearchRequest& request_;
  const SearchSpace& space_;
  const Incumbents& known_;
  int sections_;
  std::map<std::tuple<int, int, std::string, int>, int> usable_;  // (device, T, mode, b): key
  std::vector<std::size_t> schedules_;                            // by P: how many choices
  // The mix at hand.
  std::vector<int> chosen_, keys_, ranks_;
  MixedGroups result_;
};

}  // namespace

MixedGroups enumerate_mixed(const PlanInputs& inputs, const SearchRequest& request,
                            const SearchSpace& space, const Incumbents& known) {
  return MixedEnumeration(inputs, request, space, known).run();
}

}  // namespace penstock
