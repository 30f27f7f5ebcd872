// Sections are priced at each shape by the tables of the search, then a batch of one micro-batch
// of every shape as any plan is. So a shape costs here what it costs in the plan that comes of it.
#include "search/dynamic/profile_costs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/values/error.h"
#include "costmodel/step_prices.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

Plan layout_in_mode(Plan layout, const std::string& recompute) {
  layout.recompute = recompute;
  layout.recompute_sections.clear();
  return layout;
}

// One micro-batch of every shape, the same on all replicas.
Batch one_of_each(std::vector<MicroBatchShape> shapes, int replicas) {
  Batch batch;
  batch.replicas.push_back({replicas, {}});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    batch.replicas.front().runs.push_back({1, static_cast<int>(i)});
  }
  batch.shapes = std::move(shapes);
  return batch;
}

StagePrices prices_of_shape(const StagePrices& all, int shape) {
  StagePrices one;
  one.stages = all.stages;
  for (int s = 0; s < all.stages; ++s) {
    one.compute.push_back(all.compute_of(s, shape));
    one.transfer.push_back(all.transfer_of(s, shape));
  }
  return one;
}

}  // namespace

ProfileCosts::ProfileCosts(const PlanInputs& inputs, const Plan& layout,
                           const std::string& recompute)
    : inputs_(inputs),
      layout_(layout_in_mode(layout, recompute)),
      devices_(devices_of(*inputs.cluster, layout_, inputs.reserve)),
      wiring_(*inputs.cluster, layout_) {
  if (const auto why = too_few_devices(devices_, layout_); !why.empty()) throw_bad_input(why);
  for (const DeviceCluster& type : devices_.types) {
    sections_.emplace_back(*inputs.profile, *inputs.cluster, type.device.name, layout.tensor,
                           recompute);
  }
  const auto& executor = inputs.cluster->measured_executor;
  stages_are_sums_ = !layout_.reduces_by_section() && !(executor && executor->is_priced);
  for (int stage = 0; stage < layout_.stages(); ++stage) {
    std::vector<TypeCount>& counts = counts_.emplace_back();
    for (int i = layout_.first_section(stage); i < layout_.end_section(stage); ++i) {
      const auto type =
          static_cast<std::size_t>(inputs.profile->sections[static_cast<std::size_t>(i)].type);
      const auto known = std::find_if(counts.begin(), counts.end(),
                                      [&](const TypeCount& count) { return count.type == type; });
      if (known == counts.end()) {
        counts.push_back({type, 1});
      } else {
        ++known->sections;
      }
    }
  }
}

ProfileCosts::Tables ProfileCosts::tables_of(const std::vector<MicroBatchShape>& shapes) const {
  Tables tables;
  for (const ShapeSections& sections : sections_) {
    std::vector<SectionTable>& of_type = tables.emplace_back();
    of_type.reserve(shapes.size());
    for (const MicroBatchShape& shape : shapes) of_type.push_back(sections.at(shape));
  }
  return tables;
}

// In parts whose tables stay in the processor's caches.
std::vector<ShapeCost> ProfileCosts::costs_of(const std::vector<MicroBatchShape>& shapes) const {
  constexpr std::size_t kAtOnce = 16;
  std::vector<ShapeCost> costs;
  costs.reserve(shapes.size());
  for (std::size_t first = 0; first < shapes.size(); first += kAtOnce) {
    const auto begin = shapes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kAtOnce, shapes.size() - first));
    for (ShapeCost& cost : costs_of_few({begin, begin + count})) costs.push_back(std::move(cost));
  }
  return costs;
}

std::vector<ShapeCost> ProfileCosts::costs_of_few(
    const std::vector<MicroBatchShape>& shapes) const {
  std::vector<ShapeCost> costs(shapes.size());
  const Tables tables = tables_of(shapes);
  std::vector<MicroBatchShape> known;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto unknown = std::find_if(tables.begin(), tables.end(), [&](const auto& of_type) {
      return !of_type[i].why_not.empty();
    });
    if (unknown == tables.end()) {
      known.push_back(shapes[i]);
      places.push_back(i);
    } else {
      costs[i].status = (*unknown)[i].status;
      costs[i].why_not = (*unknown)[i].why_not;
    }
  }
  if (known.empty()) return costs;
  std::vector<std::vector<const SectionTable*>> of_rank;
  for (const int type : devices_.type_of_rank) {
    std::vector<const SectionTable*>& list = of_rank.emplace_back();
    for (const std::size_t i : places) {
      list.push_back(&tables[static_cast<std::size_t>(type)][i]);
    }
  }
  Plan plan = layout_;
  set_batch(plan, one_of_each(std::move(known), layout_.data));
  const StagePrices prices =
      price_stages(*inputs_.profile, wiring_, plan, RankTables::of_each(std::move(of_rank))).prices;
  for (std::size_t i = 0; i < places.size(); ++i) {
    costs[places[i]].prices = prices_of_shape(prices, static_cast<int>(i));
  }
  return costs;
}

StageLoad ProfileCosts::load_of(int stage, const std::vector<SectionLoad>& by_type) const {
  StageLoad load;
  for (const TypeCount& count : counts_[static_cast<std::size_t>(stage)]) {
    const SectionLoad& section = by_type[count.type];
    load.forward += count.sections * section.forward;
    load.fused_backward += count.sections * section.fused_backward;
    load.recompute += count.sections * section.recompute;
    load.stash += section.stash * count.sections;
    load.working_peak = std::max(load.working_peak, section.working_peak);
  }
  return load;
}

ShapeLoads ProfileCosts::loads_of(const std::vector<MicroBatchShape>& shapes) const {
  if (!stages_are_sums_) return ShapeCosts::loads_of(shapes);
  const int stages = layout_.stages();
  ShapeLoads loads;
  loads.shapes.resize(shapes.size());
  loads.loads.reserve(shapes.size() * static_cast<std::size_t>(stages));
  std::vector<std::vector<SectionLoad>> of_types(
      sections_.size(), std::vector<SectionLoad>(inputs_.profile->section_types.size()));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t type = 0; type < sections_.size(); ++type) {
      SectionTable verdict = sections_[type].loads_at(shapes[i], of_types[type]);
      if (verdict.why_not.empty()) continue;
      loads.shapes[i] = {verdict.status, std::move(verdict.why_not)};
      break;
    }
    for (int stage = 0; stage < stages; ++stage) {
      const auto rank = static_cast<std::size_t>(layout_.rank_of(stage));
      const auto type = static_cast<std::size_t>(devices_.type_of_rank[rank]);
      loads.loads.push_back(load_of(stage, of_types[type]));
    }
  }
  return loads;
}

StagePricing ProfileCosts::step_pricing() const {
  StepPrices steps = price_steps(*inputs_.profile, wiring_, layout_);
  StagePricing pricing;
  pricing.prices.stages = layout_.stages();
  pricing.prices.shapes = 0;
  pricing.prices.step = std::move(steps.step);
  pricing.prices.tied_reduce = std::move(steps.tied_reduce);
  pricing.prices.norm = steps.norm;
  pricing.ties = std::move(steps.ties);
  pricing.level_used = std::move(steps.level_used);
  return pricing;
}

StagePricing ProfileCosts::prices_of(const Plan& plan) const {
  const Tables tables = tables_of(micro_batch_shapes(plan));
  std::vector<std::vector<const SectionTable*>> of_rank;
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    const ShapeRange own = shapes_of_kind(plan, rank / plan.pipeline);
    const int type = devices_.type_of_rank[static_cast<std::size_t>(rank % plan.pipeline)];
    std::vector<const SectionTable*>& list = of_rank.emplace_back();
    for (int shape = own.first; shape < own.end; ++shape) {
      const SectionTable& table =
          tables[static_cast<std::size_t>(type)][static_cast<std::size_t>(shape)];
      if (!table.why_not.empty()) throw Error(ErrorKind::kInternal, table.why_not);
      list.push_back(&table);
    }
  }
  return price_stages(*inputs_.profile, *inputs_.cluster, plan,
                      RankTables::of_each(std::move(of_rank)),
                      find_schedule(plan.schedule)->splits_backward());
}

}  // namespace penstock
