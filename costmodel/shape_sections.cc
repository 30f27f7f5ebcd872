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
    types_.push_back({index, section_grids(type, device_, tensor_degree, recompute_),
                      ShapeNodes(type, device_, tensor_degree, recompute_)});
    const std::vector<SectionGrid>& grids = types_.back().grids;
    knows_decoder_ = knows_decoder_ || (!grids.empty() && grids.front().decoder_length > 0);
  }
}

SectionTable ShapeSections::at(const MicroBatchShape& shape) const {
  if (shape.decoder_tokens > 0 && !knows_decoder_) {
    return without(ShapeStatus::kUntried, why_no_decoder());
  }
  std::vector<SectionPrice> by_type(profile_.section_types.size());
  SectionTable table;
  for (const Type& type : types_) {
    const auto index = static_cast<std::size_t>(type.index);
    const SectionType& section_type = profile_.section_types[index];
    const MicroBatchShape asked = type.nodes.clamped(shape);
    const SectionKey key{
        device_, tensor_degree_, asked.samples, asked.tokens, asked.decoder_tokens, recompute_, {}};
    if (std::string why = why_no_price(section_type, type.grids, key); !why.empty()) {
      return without(ShapeStatus::kUntried, std::move(why));
    }
    const ShapeStatus status = type.nodes.status_of(asked);
    if (status != ShapeStatus::kKnown) return unknown(status, shape, section_type);
    const GridSample sample =
        sample_at(type.grids, asked.samples, asked.tokens, asked.decoder_tokens);
    by_type[index] = section_price(profile_, sample, key, {groups_});
    if (by_type[index].traffic_time > Duration{}) table.traffic_level = groups_.level();
  }
  const SectionKey key{
      device_, tensor_degree_, shape.samples, shape.tokens, shape.decoder_tokens, recompute_, {}};
  if (std::string why = why_no_tied_parameters(profile_, key); !why.empty()) {
    return without(ShapeStatus::kUntried, std::move(why));
  }
  table.sections.reserve(profile_.sections.size());
  for (const Section& section : profile_.sections) {
    table.sections.push_back(by_type[static_cast<std::size_t>(section.type)]);
  }
  return table;
}

}  // namespace penstock
