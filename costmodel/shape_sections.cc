#include "costmodel/shape_sections.h"

#include <utility>

#include "costmodel/section_price.h"
#include "costmodel/used_types.h"

namespace penstock {
namespace {

std::string in_words(const MicroBatchShape& shape) {
  std::string words = std::to_string(shape.samples) + " x " + std::to_string(shape.tokens);
  if (shape.decoder_tokens > 0) words += " + " + std::to_string(shape.decoder_tokens);
  return words + " tokens";
}

SectionTable without(ShapeStatus status, std::string why_not) {
  SectionTable table;
  table.status = status;
  table.why_not = std::move(why_not);
  return table;
}

SectionTable unknown(ShapeStatus status, const MicroBatchShape& shape, const SectionType& type) {
  const std::string shape_and_type =
      "micro-batches of " + in_words(shape) + " (section type '" + type.name + "')";
  return without(status, status == ShapeStatus::kOutOfMemory
                             ? "measuring ran out of memory with " + shape_and_type
                             : "not measured: " + shape_and_type);
}

// What is measured as 0 is 0 between its points, too, and costs no power law. I and W are wanted
// where they make up B, or where the traffic of tensor parallelism hides beside them.
std::vector<SectionGrid> only_loads(std::vector<SectionGrid> grids) {
  bool needs_split = false;
  for (const SectionGrid& grid : grids) {
    for (const GridRow& row : grid.rows) {
      for (const GridPoint& point : row.points) {
        needs_split |= !point.sample.fused_measured;
        for (const Measurement* m : point.sample.from) needs_split |= !m->tensor_traffic.empty();
      }
    }
  }
  std::vector<Quantity> unwanted{kForwardSpread,
                                 kInputGradientSpread,
                                 kWeightGradientSpread,
                                 kFusedBackwardSpread,
                                 kRecomputeSpread,
                                 kWeightStash,
                                 kBoundary};
  if (!needs_split) unwanted.insert(unwanted.end(), {kInputGradientTime, kWeightGradientTime});
  for (SectionGrid& grid : grids) {
    for (GridRow& row : grid.rows) {
      for (GridPoint& point : row.points) {
        for (const Quantity quantity : unwanted) point.sample.values[quantity] = 0.0;
      }
    }
  }
  return grids;
}

}  // namespace

ShapeSections::ShapeSections(const ModelProfile& profile, const ClusterSpec& cluster,
                             std::string device, int tensor_degree, std::string recompute)
    : profile_(profile),
      device_(std::move(device)),
      tensor_degree_(tensor_degree),
      recompute_(std::move(recompute)),
      groups_(cluster, device_, tensor_degree) {
  for (const int index : used_types(profile)) {
    const SectionType& type = profile.section_types[static_cast<std::size_t>(index)];
    std::vector<SectionGrid> of_type = section_grids(type, device_, tensor_degree, recompute_);
    types_.push_back({index, of_type, only_loads(of_type),
                      ShapeNodes(type, device_, tensor_degree, recompute_)});
    const std::vector<SectionGrid>& grids = types_.back().grids;
    knows_decoder_ = knows_decoder_ || (!grids.empty() && grids.front().decoder_length > 0);
  }
}

template <class Take>
SectionTable ShapeSections::each_type(const MicroBatchShape& shape,
                                      std::vector<SectionGrid> Type::*grids,
                                      const Take& take) const {
  if (shape.decoder_tokens > 0 && !knows_decoder_) {
    return without(ShapeStatus::kUntried, why_no_decoder());
  }
  SectionKey key{
      device_, tensor_degree_, shape.samples, shape.tokens, shape.decoder_tokens, recompute_, {}};
  for (const Type& type : types_) {
    const SectionType& section_type = profile_.section_types[static_cast<std::size_t>(type.index)];
    const MicroBatchShape asked = type.nodes.clamped(shape);
    key.samples = asked.samples;
    key.sequence_length = asked.tokens;
    key.decoder_length = asked.decoder_tokens;
    if (std::string why = why_no_price(section_type, type.grids, key); !why.empty()) {
      return without(ShapeStatus::kUntried, std::move(why));
    }
    const ShapeStatus status = type.nodes.status_of(asked);
    if (status != ShapeStatus::kKnown) return unknown(status, shape, section_type);
    take(static_cast<std::size_t>(type.index),
         sample_at(type.*grids, asked.samples, asked.tokens, asked.decoder_tokens), key);
  }
  if (std::string why = why_no_tied_parameters(profile_, key); !why.empty()) {
    return without(ShapeStatus::kUntried, std::move(why));
  }
  return {};
}

SectionTable ShapeSections::at(const MicroBatchShape& shape) const {
  std::vector<SectionPrice> by_type(profile_.section_types.size());
  int traffic_level = -1;
  SectionTable table = each_type(
      shape, &Type::grids, [&](std::size_t type, const GridSample& sample, const SectionKey& key) {
        by_type[type] = section_price(profile_, sample, key, {groups_});
        if (by_type[type].traffic_time > Duration{}) traffic_level = groups_.level();
      });
  if (!table.why_not.empty()) return table;
  table.traffic_level = traffic_level;
  table.sections.reserve(profile_.sections.size());
  for (const Section& section : profile_.sections) {
    table.sections.push_back(by_type[static_cast<std::size_t>(section.type)]);
  }
  return table;
}

SectionTable ShapeSections::loads_at(const MicroBatchShape& shape,
                                     std::span<SectionLoad> by_type) const {
  return each_type(shape, &Type::load_grids,
                   [&](std::size_t type, const GridSample& sample, const SectionKey& key) {
                     const ComputePrice price = price_with_traffic(sample, key, {groups_}).price;
                     by_type[type] = {price.forward.duration, price.fused_backward.duration,
                                      price.recompute.duration, price.stash, price.working_peak};
                   });
}

}  // namespace penstock
