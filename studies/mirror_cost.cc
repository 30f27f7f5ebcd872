// A rank's part: of every section of its stages what is kept of a parameter (weights and optimizer
// state), over the holders of these weights, because what all of them have is dealt out among them,
// and with ZeRO-1 the rest is divided anyway. All ranks send at once, each to the rank half the job
// away, so that the devices of a domain share its way out and in.
#include "studies/mirror_cost.h"

#include <algorithm>
#include <map>

#include "core/values/error.h"
#include "costmodel/device_places.h"
#include "costmodel/links.h"

namespace penstock {
namespace {

std::int64_t parameters_of(const ModelProfile& profile, int section, int tensor_degree) {
  const auto type =
      static_cast<std::size_t>(profile.sections[static_cast<std::size_t>(section)].type);
  for (const ParameterCount& count : profile.section_types[type].parameters) {
    if (count.tensor_degree == tensor_degree) return count.count;
  }
  throw_bad_input("the profile does not say how many parameters section " +
                  std::to_string(section) + " has with TP = " + std::to_string(tensor_degree));
}

class Mirrored {
 public:
  Mirrored(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan)
      : profile_(profile), plan_(plan), places_(cluster, plan), ranks_(plan.devices()) {}

  MirrorCost cost() {
    MirrorCost cost;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Bytes own = part_of(rank);
      const Bytes other = part_of((rank + ranks_ - ranks_ / 2) % ranks_);
      cost.sent = std::max(cost.sent, own);
      cost.host_memory = std::max(cost.host_memory, Bytes{2 * (own.count + other.count)});
      count_flow(rank);
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      const Duration time = point_to_point_time(places_.cluster(), way_of(rank), part_of(rank));
      if (time <= cost.time) continue;
      cost.time = time;
      cost.rank = rank;
    }
    return cost;
  }

 private:
  struct Place {
    int pipeline_rank = 0, replica = 0, tensor_rank = 0;
  };
  [[nodiscard]] Place place_of(int rank) const {
    const int group = rank / plan_.tensor;
    const bool inner = plan_.placement == Placement::kPipelineInner;
    return {inner ? group % plan_.pipeline : group / plan_.data,
            inner ? group / plan_.pipeline : group % plan_.data, rank % plan_.tensor};
  }

  [[nodiscard]] Bytes part_of(int rank) const {
    std::int64_t parameters = 0;
    for (const int stage : plan_.stages_of_rank(place_of(rank).pipeline_rank)) {
      for (int s = plan_.first_section(stage); s < plan_.end_section(stage); ++s) {
        parameters += parameters_of(profile_, s, plan_.tensor);
      }
    }
    const TrainingState& state = profile_.training;
    const std::int64_t each =
        state.bytes_per_parameter.count + state.optimizer_bytes_per_parameter.count;
    const std::int64_t holders = plan_.weight_copies();
    return {(parameters * each + holders - 1) / holders};
  }

  [[nodiscard]] int device_of(int rank) const {
    const Place place = place_of(rank);
    return places_.device_of(place.pipeline_rank, place.replica, place.tensor_rank);
  }
  [[nodiscard]] int keeper_of(int rank) const { return (rank + ranks_ / 2) % ranks_; }
  [[nodiscard]] int level_of(int rank) const {
    return places_.layout().level_between(device_of(rank), device_of(keeper_of(rank)));
  }

  // The domains of the level below that its message leaves and enters.
  void count_flow(int rank) {
    const int level = level_of(rank);
    ++out_[{level, places_.layout().domain(level - 1, device_of(rank))}];
    ++in_[{level, places_.layout().domain(level - 1, device_of(keeper_of(rank)))}];
  }
  [[nodiscard]] Way way_of(int rank) const {
    const int level = level_of(rank), from = device_of(rank), to = device_of(keeper_of(rank));
    const DeviceLayout& layout = places_.layout();
    Way way;
    way.level = level;
    if (layout.types_differ()) {
      way.from_type = layout.type_of(from);
      way.to_type = layout.type_of(to);
    }
    way.flows_out = out_.at({level, layout.domain(level - 1, from)});
    way.flows_in = in_.at({level, layout.domain(level - 1, to)});
    return way;
  }

  const ModelProfile& profile_;
  const Plan& plan_;
  DevicePlaces places_;
  int ranks_;
  std::map<std::pair<int, int>, int> out_, in_;  // messages, by level and domain
};

}  // namespace

MirrorCost mirror_cost(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan) {
  if (plan.devices() < 2) throw_bad_input("one rank has no other to mirror to");
  return Mirrored(profile, cluster, plan).cost();
}

}  // namespace penstock
