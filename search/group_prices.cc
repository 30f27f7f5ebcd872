// Sections are priced by (device type, mode, T, b) and shared among groups; a group only points at
// them, one table per rank where it is mixed. Minima over the types serve bounds that hold however
// the sections are spread. Nothing here depends on cuts.
#include "search/group_prices.h"

#include <algorithm>
#include <limits>

#include "search/group_search.h"

namespace penstock {
namespace {

const DeviceCluster& device_of_key(const SearchSpace& space, int key) {
  return space.devices[static_cast<std::size_t>(space.keys[static_cast<std::size_t>(key)].device)];
}

}  // namespace

GroupPrices::GroupPrices(const PlanInputs& inputs, const SearchSpace& space,
                         const CandidateGroup& group, const Plan& plan, SearchShared& shared)
    : memory_(device_of_key(space, group.key).device.memory),
      reserve_(device_of_key(space, group.key).reserve) {
  for (const MicroBatchShape& shape : micro_batch_shapes(plan)) samples_.push_back(shape.samples);
  if (group.mixed.empty()) load(inputs, space, group.key, plan, shared);
  for (const RankRun& run : group.mixed) load(inputs, space, run.key, plan, shared);
  if (!why_not_.empty()) return;
  if (!group.mixed.empty()) {
    spread(space, group);
    return;
  }
  sums_ = RankSums(*of_type_[0][0]);
  tables_ = tables_of(of_type_[0]);
}

void GroupPrices::load(const PlanInputs& inputs, const SearchSpace& space, int key_index,
                       const Plan& plan, SearchShared& shared) {
  const SearchKey& key = space.keys[static_cast<std::size_t>(key_index)];
  Shapes& shapes = of_type_.emplace_back();
  shapes.reserve(samples_.size());
  for (const int samples : samples_) {
    if (samples == key.micro_batch_size && plan.recompute == key.recompute) {
      // The key's own: shared without a count, since the space stays.
      shapes.emplace_back(std::shared_ptr<const SectionSums>(), &key.sums);
    } else {
      const auto known = std::tuple(key.device, key.tensor, key.others, plan.recompute, samples);
      shapes.push_back(shared.shapes.get(known, [&] {
        return sum_sections(*inputs.profile, *inputs.cluster,
                            device_of_key(space, key_index).device.name, plan.tensor, samples,
                            plan.sequence_length, plan.recompute, key.others);
      }));
    }
    if (!shapes.back()->why_not.empty()) why_not_ = shapes.back()->why_not;
  }
}

void GroupPrices::spread(const SearchSpace& space, const CandidateGroup& group) {
  std::vector<const SectionSums*> sums;
  std::vector<std::vector<const SectionTable*>> tables;
  std::vector<Bytes> memory, reserve;
  const auto ranks = static_cast<std::size_t>(group.pipeline);
  sums.reserve(ranks);
  tables.reserve(ranks);
  memory.reserve(ranks);
  reserve.reserve(ranks);
  for (std::size_t type = 0; type < group.mixed.size(); ++type) {
    const DeviceCluster& device = device_of_key(space, group.mixed[type].key);
    for (int rank = 0; rank < group.mixed[type].ranks; ++rank) {
      sums.push_back(of_type_[type][0].get());
      tables.push_back(tables_of(of_type_[type]));
      memory.push_back(device.device.memory);
      reserve.push_back(device.reserve);
    }
  }
  sums_ = RankSums(std::move(sums));
  tables_ = RankTables::of_each(std::move(tables));
  memory_ = PerRank<Bytes>::of_each(std::move(memory));
  reserve_ = PerRank<Bytes>::of_each(std::move(reserve));
}

std::vector<const SectionTable*> GroupPrices::tables_of(const Shapes& shapes) {
  std::vector<const SectionTable*> tables;
  tables.reserve(shapes.size());
  for (const auto& shape : shapes) tables.push_back(&shape->table);
  return tables;
}

std::vector<const SectionSums*> GroupPrices::types() const {
  std::vector<const SectionSums*> types;
  types.reserve(of_type_.size());
  for (const Shapes& shapes : of_type_) types.push_back(shapes[0].get());
  return types;
}

bool GroupPrices::recomputes() const {
  return std::any_of(of_type_.begin(), of_type_.end(),
                     [](const Shapes& shapes) { return shapes[0]->recompute.back() > 0; });
}

const SectionSums* GroupPrices::shape_of(int samples) const {
  const auto at = std::find(samples_.begin(), samples_.end(), samples);
  if (at == samples_.end()) return nullptr;
  return of_type_[0][static_cast<std::size_t>(at - samples_.begin())].get();
}

template <class TimesOf>
std::int64_t GroupPrices::sum_of_least(const TimesOf& times_of) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i + 1 < of_type_[0][0]->work.size(); ++i) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Shapes& shapes : of_type_) least = std::min(least, times_of(shapes, i));
    sum += least;
  }
  return sum;
}

std::int64_t GroupPrices::least_work(BackwardKind backward, std::size_t shape) const {
  if (of_type_.size() == 1) return of_type_[0][shape]->work_of(backward).back();
  return sum_of_least([&](const Shapes& shapes, std::size_t i) {
    const std::vector<std::int64_t>& work = shapes[shape]->work_of(backward);
    return work[i + 1] - work[i];
  });
}

std::int64_t GroupPrices::least_trip(BackwardKind backward) const {
  const auto trip = [&](const SectionSums& sums, std::size_t i) {
    return sums.forward[i] + sums.recompute[i] + sums.gradient_of(backward)[i];
  };
  if (of_type_.size() == 1) return trip(*of_type_[0][0], of_type_[0][0]->forward.size() - 1);
  return sum_of_least([&](const Shapes& shapes, std::size_t i) {
    return trip(*shapes[0], i + 1) - trip(*shapes[0], i);
  });
}

double GroupPrices::least_forward_share() const {
  double least = 1.0;
  for (const Shapes& shapes : of_type_) least = std::min(least, shapes[0]->least_forward_share);
  return least;
}

}  // namespace penstock
