// Enumerates, for every ordered choice of types and the T, mode and b that all can use, every
// number of ranks on each of them. Threads share out these choices; results are merged in their
// order. That is many, so a mix is first held against bounds that need no cuts: the work of all
// sections at the summed speed of the ranks, the way through the pipeline with each section on its
// fastest type, and the filling of the ranks (mixed_fill.h). A bound rounds down by a factor just
// below 1, for what doubles round.
#include "search/mixed_devices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "search/in_parallel.h"

namespace penstock {
namespace {

// What the sections cost on several types, for bounds that hold however they are spread.
class MixedCosts {
 public:
  // `kept`: SearchKey::kept of the types.
  MixedCosts(std::vector<const SectionSums*> types, std::vector<const SectionSums*> kept)
      : types_(std::move(types)),
        kept_(std::move(kept)),
        speeds_(types_.size(), std::vector<double>(types_.size(), 0.0)) {
    const std::size_t sections = types_[0]->mixed_work.size() - 1;
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

  const std::vector<const SectionSums*> types_, kept_;
  // [reference][type]: how many times as fast as the reference at most, for one section.
  std::vector<std::vector<double>> speeds_;
  std::int64_t longest_ = 0, path_ = 0;
  double most_kept_ = 0.0;  // what a rank without recomputes saves, as a multiple of what it does
};

// Device types in an order, and a key with the same T, recompute mode and b on each of them.
struct MixedKeys {
  std::vector<int> types, keys;  // indices into SearchSpace::devices and keys
};

class MixedKeyChoices {
 public:
  explicit MixedKeyChoices(const SearchSpace& space) : devices_(space.devices.size()) {
    for (std::size_t k = 0; k < space.keys.size(); ++k) {
      const SearchKey& key = space.keys[k];
      // Mixed plans divide neither sequences nor experts.
      if (!key.why_not.empty() || key.others.context > 1 || key.others.expert > 1 ||
          key.others.expert_tensor > 0) {
        continue;
      }
      usable_[{key.device, key.tensor, key.recompute, key.micro_batch_size}] = static_cast<int>(k);
    }
  }

  std::vector<MixedKeys> all() {
    for (std::size_t types = 2; types <= std::min(kMostTypesInOnePlan, devices_); ++types) {
      add_orders(types);
    }
    return std::move(choices_);
  }

 private:
  // Every ordered choice of so many types.
  void add_orders(std::size_t types) {
    if (chosen_.size() == types) return add_keys();
    for (int device = 0; device < static_cast<int>(devices_); ++device) {
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
      std::vector<int> keys = {key};
      for (std::size_t t = 1; t < chosen_.size(); ++t) {
        auto of_other = of_first;
        std::get<0>(of_other) = chosen_[t];
        if (const auto found = usable_.find(of_other); found != usable_.end()) {
          keys.push_back(found->second);
        }
      }
      if (keys.size() == chosen_.size()) choices_.push_back({chosen_, std::move(keys)});
    }
  }

  const std::size_t devices_;
  std::map<std::tuple<int, int, std::string, int>, int> usable_;  // (device, T, mode, b): key
  std::vector<int> chosen_;
  std::vector<MixedKeys> choices_;
};

// What every task of an enumeration asks for.
struct MixedQuestion {
  const PlanInputs& inputs;
  const SearchRequest& request;
  const SearchSpace& space;
  const Incumbents& known;
  int sections = 0;
  std::vector<std::size_t> schedules;  // by P: how many choices
};

// The groups of one choice of keys: every number of ranks on every type, and of replicas.
class MixedRanks {
 public:
  MixedRanks(const MixedQuestion& question, const MixedKeys& choice)
      : question_(question),
        request_(question.request),
        choice_(choice),
        key_(key_of(choice.keys.front())),
        costs_(sums_of(choice), kept_of(choice)),
        ranks_(choice.keys.size(), 1) {}

  MixedGroups run() {
    extend(0);
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<const SectionSums*> sums_of(const MixedKeys& choice) const {
    std::vector<const SectionSums*> sums;
    for (const int key : choice.keys) sums.push_back(&key_of(key).sums);
    return sums;
  }
  [[nodiscard]] std::vector<const SectionSums*> kept_of(const MixedKeys& choice) const {
    std::vector<const SectionSums*> kept;
    for (const int key : choice.keys) kept.push_back(key_of(key).kept.get());
    return kept;
  }

  // Every number of ranks on every type from this one on.
  void extend(std::size_t type) {
    if (type == ranks_.size()) return add_replicas();
    for (ranks_[type] = 1; ranks_[type] * key_.tensor <= devices_of(type); ++ranks_[type]) {
      const int so_far = std::accumulate(ranks_.begin(),
                                         ranks_.begin() + static_cast<std::ptrdiff_t>(type) + 1, 0);
      const int pipeline = so_far + static_cast<int>(ranks_.size() - type) - 1;  // at least
      if (pipeline > question_.sections || pipeline * key_.tensor > request_.gpus) break;
      extend(type + 1);
    }
    ranks_[type] = 1;
  }

  void add_replicas() {
    const int pipeline = std::accumulate(ranks_.begin(), ranks_.end(), 0);
    if (request_.pins.pipeline.value_or(pipeline) != pipeline) return;
    int most = std::numeric_limits<int>::max();
    for (std::size_t t = 0; t < ranks_.size(); ++t) {
      most = std::min(most, devices_of(t) / (ranks_[t] * key_.tensor));
    }
    const int replica = pipeline * key_.tensor;
    for (const int data :
         data_degrees(request_, std::min(request_.gpus, most * replica), replica)) {
      add_group(pipeline, data);
    }
  }

  void add_group(int pipeline, int data) {
    const OfGrid& grid = of_grid(pipeline, data);
    const int b = key_.micro_batch_size;
    const int samples = (request_.global_batch + data - 1) / data;
    if (grid.candidates == 0 || (samples < b && !request_.pins.micro_batch_size)) return;
    result_.candidates += grid.candidates;
    const std::int64_t full = samples / b;
    // As on one type (candidates.cc); with two copies of the weights each takes half.
    const std::int64_t work = std::max(costs_.mean(ranks_), costs_.longest_section() / 2);
    CandidateGroup group;
    group.key = choice_.keys.front();
    group.pipeline = pipeline;
    group.data = data;
    group.candidates = grid.candidates;
    group.bound = Duration{std::max(full * work, full > 0 ? costs_.path() : 0)};
    group.devices = pipeline * data * key_.tensor;
    Bytes room, reserve = device(0).reserve;
    for (std::size_t t = 0; t < ranks_.size(); ++t) {
      room += (device(t).device.memory - device(t).reserve) * std::int64_t{ranks_[t]};
      reserve = std::min(reserve, device(t).reserve);
    }
    group.least_memory = Bytes{grid.state.count / pipeline} + reserve;
    const bool fits = grid.state <= room;
    if (fits && request_.bounds &&
        !question_.known.may_matter(group.bound, group.devices, group.least_memory)) {
      result_.bounded += group.candidates;
      return;
    }
    group.mixed.reserve(ranks_.size());
    for (std::size_t t = 0; t < ranks_.size(); ++t) {
      group.mixed.push_back({choice_.keys[t], ranks_[t]});
    }
    if (!fits) {
      const Bytes over{(grid.state - room).count / pipeline};
      result_.rejected.add({"parameters, gradients and optimizer state alone over memory",
                            group.candidates, over, over, ""},
                           group.candidates, plan_of(question_.space, request_, group));
      return;
    }
    group.replay_size = std::int64_t{pipeline} * ((samples + b - 1) / b);
    result_.groups.push_back(std::move(group));
  }

  // What groups of one P and D have in common, however their ranks are spread over the types.
  struct OfGrid {
    std::int64_t candidates = 0;
    Bytes state;
  };
  const OfGrid& of_grid(int pipeline, int data) {
    const auto [known, is_new] = grids_.try_emplace({pipeline, data});
    if (!is_new) return known->second;
    known->second.candidates =
        candidates_of(request_, key_, question_.schedules[static_cast<std::size_t>(pipeline)],
                      sharding_choices(request_, pipeline, data).size(), pipeline, data);
    known->second.state = least_state(question_.inputs, request_, key_, pipeline, data);
    return known->second;
  }

  [[nodiscard]] const SearchKey& key_of(int key) const {
    return question_.space.keys[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] const DeviceCluster& device(std::size_t type) const {
    return question_.space.devices[static_cast<std::size_t>(choice_.types[type])];
  }
  [[nodiscard]] int devices_of(std::size_t type) const {
    return std::min(request_.gpus, device(type).devices);
  }

  const MixedQuestion& question_;
  const SearchRequest& request_;
  const MixedKeys& choice_;
  const SearchKey& key_;  // of the first type; all have its T, mode and b
  const MixedCosts costs_;
  std::vector<int> ranks_;  // on each type: the mix at hand
  std::map<std::pair<int, int>, OfGrid> grids_;
  MixedGroups result_;
};

MixedQuestion question_of(const PlanInputs& inputs, const SearchRequest& request,
                          const SearchSpace& space, const Incumbents& known) {
  MixedQuestion question{
      inputs, request, space, known, static_cast<int>(inputs.profile->sections.size()), {}};
  question.schedules.reserve(static_cast<std::size_t>(question.sections) + 1);
  for (int p = 0; p <= question.sections; ++p) {
    question.schedules.push_back(p < 2 ? 0
                                       : schedule_choices(request, question.sections, p).size());
  }
  return question;
}

// By bound; to move a group costs more than to compare two.
std::vector<CandidateGroup> in_order(std::vector<MixedGroups>& parts) {
  std::vector<CandidateGroup*> order;
  for (MixedGroups& part : parts) {
    for (CandidateGroup& group : part.groups) order.push_back(&group);
  }
  std::stable_sort(
      order.begin(), order.end(),
      [](const CandidateGroup* a, const CandidateGroup* b) { return a->bound < b->bound; });
  std::vector<CandidateGroup> groups;
  groups.reserve(order.size());
  for (CandidateGroup* group : order) groups.push_back(std::move(*group));
  return groups;
}

}  // namespace

MixedGroups enumerate_mixed(const PlanInputs& inputs, const SearchRequest& request,
                            const SearchSpace& space, const Incumbents& known) {
  const MixedQuestion question = question_of(inputs, request, space, known);
  const std::vector<MixedKeys> choices = MixedKeyChoices(space).all();
  std::vector<MixedGroups> parts(choices.size());
  in_parallel(request.threads, parts.size(),
              [&](std::size_t i) { parts[i] = MixedRanks(question, choices[i]).run(); });
  MixedGroups all;
  all.groups = in_order(parts);
  for (const MixedGroups& part : parts) {
    all.candidates += part.candidates;
    all.bounded += part.bounded;
    all.rejected.merge(part.rejected);
  }
  return all;
}

}  // namespace penstock
