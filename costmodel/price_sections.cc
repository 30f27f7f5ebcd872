// Looks every type of section up at one key (device, T, sample count, lengths, mode) in its grid of
// measurements (section_grid.h), which interpolates between sizes, and says with notes what was
// interpolated, extended or assumed; where a type has no such rows, why_not names the part of the
// key that is missing and what there is instead.
#include <algorithm>
#include <cmath>

#include "costmodel/price_stages.h"
#include "costmodel/section_grid.h"
#include "costmodel/section_price.h"
#include "costmodel/sources.h"
#include "costmodel/torch_ring.h"
#include "costmodel/used_types.h"

namespace penstock {
namespace {

// Head and tail of a sequence go to one rank, so that all have as many pairs to attend to.
std::string why_not_divided(const SectionKey& key) {
  const int context = key.others.context;
  if (context == 1 || key.sequence_length % (2 * context) == 0) return {};
  return "a sequence of " + std::to_string(key.sequence_length) +
         " tokens is not divided into the 2 x " + std::to_string(context) +
         " parts of context parallelism";
}

// "compute times assumed (roofline: 60 % of the peak rate)", once per source.
void note_source(const ModelProfile& profile, const std::string& what, int index, int type,
                 Duration touched, std::vector<SectionNote>& notes) {
  const Source* source = unmeasured_source(profile.sources, index);
  if (source == nullptr) return;
  const std::string text =
      what + " " + origin_in_words(source->origin) + " (" + in_short(*source) + ")";
  const bool known = std::any_of(notes.begin(), notes.end(), [&](const SectionNote& note) {
    return note.type == type && note.text == text;
  });
  if (!known) notes.push_back({type, text, touched, false});
}

std::string split_note(const ModelProfile& profile, const std::string& type,
                       const GridSample& sample, const ComputePrice& price) {
  const double share = price.fused_backward.duration.count() == 0
                           ? 0.0
                           : static_cast<double>(price.weight_gradient.duration.count()) /
                                 static_cast<double>(price.fused_backward.duration.count());
  const auto percent = static_cast<int>(std::floor(100.0 * share + 0.5));
  std::string text = "backward split into input and weight gradient: " + std::to_string(percent) +
                     " % of B taken for W in '" + type + "', assumed";
  const auto without =
      std::find_if(sample.from.begin(), sample.from.end(),
                   [](const Measurement* m) { return !m->input_gradient || !m->weight_gradient; });
  if (without == sample.from.end()) return text;
  const Measurement& m = **without;
  if (!m.weight_gradient_share) return text + " for want of any figure";
  const Source* source = unmeasured_source(profile.sources, m.split_source);
  return source == nullptr ? text : text + " (" + in_short(*source) + ")";
}

std::string beyond(const std::string& what, int value, Range range) {
  std::string text = "extrapolated " + what + " " + std::to_string(value) + " beyond measured " +
                     std::to_string(range.least);
  return range.least == range.most ? text : text + ".." + std::to_string(range.most);
}

void add_notes(const ModelProfile& profile, const std::vector<GridRow>& rows,
               const GridSample& sample, const SectionPrice& section, const SectionKey& key,
               int type, std::vector<SectionNote>& notes) {
  const Duration touched = compute_time(section.price);
  for (const Measurement* m : sample.from) {
    note_source(profile, "compute times", m->time_source, type, touched, notes);
    note_source(profile, "activation memory", m->memory_source, type, Duration{}, notes);
  }
  const auto& section_type = profile.section_types[static_cast<std::size_t>(type)];
  note_source(profile, "parameter counts", section_type.parameter_source, type, Duration{}, notes);
  if (!sample.split_measured) {
    notes.push_back({type, split_note(profile, section_type.name, sample, section.price),
                     section.price.fused_backward.duration, true});
  }
  if (sample.beyond_samples) {
    notes.push_back(
        {type, beyond("micro-batch size", key.samples, sample.samples), touched, false});
  }
  if (sample.beyond_length) {
    const Range lengths{rows.front().length, rows.back().length};
    notes.push_back(
        {type, beyond("sequence length", key.sequence_length, lengths), touched, false});
  }
  if (key.tensor_degree > 1 && sample.from.front()->tensor_traffic.empty()) {
    notes.push_back({type, "TP traffic as measured, not scaled", touched, false});
  }
  if (section.at_torch_rate > Duration{}) {
    notes.push_back({type, std::string(kTorchRateAssumed), section.at_torch_rate, false});
  }
  if (sample.launch_bound) {
    notes.push_back({type, "launch-bound: a measured time lowered to that of a larger micro-batch",
                     touched, false});
  }
}

// EP of a model without experts would only shard its ranks otherwise than they are.
std::string why_no_experts(const ModelProfile& profile, const OtherDegrees& others) {
  if (others.expert <= 1 || has_experts(profile)) return {};
  return "EP = " + std::to_string(others.expert) + ", but '" + profile.name + "' has no experts";
}

}  // namespace

bool has_experts(const ModelProfile& profile) {
  return std::ranges::any_of(profile.section_types,
                             [](const SectionType& type) { return type.expert_parameters > 0; });
}

SectionTable price_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                            const std::string& device, int tensor_degree, int samples,
                            int sequence_length, const std::string& recompute, int decoder_length,
                            const OtherDegrees& others) {
  const SectionKey key{device,         tensor_degree, samples, sequence_length,
                       decoder_length, recompute,     others};
  SectionTable table;
  if (profile.sections.empty()) table.why_not = "model '" + profile.name + "' has no sections";
  const TensorGroups groups(cluster, device, tensor_degree);
  const ContextRings rings(cluster, device, tensor_degree, others);
  const ExpertGroups experts(cluster, device, tensor_degree, others);
  if (table.why_not.empty()) table.why_not = why_not_divided(key);
  if (table.why_not.empty()) table.why_not = why_no_experts(profile, others);
  if (!table.why_not.empty()) {
    table.status = ShapeStatus::kUntried;
    return table;
  }
  std::vector<SectionPrice> by_type(profile.section_types.size());
  bool knows_decoder = false;
  for (const int type : used_types(profile)) {
    const auto index = static_cast<std::size_t>(type);
    const std::vector<SectionGrid> grids =
        section_grids(profile.section_types[index], device, tensor_degree, recompute, others);
    table.why_not = why_no_price(profile.section_types[index], grids, key);
    if (!table.why_not.empty()) break;
    const GridSample here = sample_at(grids, samples, sequence_length, decoder_length);
    by_type[index] = section_price(profile, here, key, {groups, &rings, &experts});
    if (by_type[index].traffic_time > Duration{}) {
      table.traffic_level = std::max({groups.level(), rings.level(), experts.level()});
    }
    knows_decoder = knows_decoder || grids.front().decoder_length > 0;
    add_notes(profile, grids.front().rows, here, by_type[index], key, type, table.notes);
  }
  if (table.why_not.empty()) table.why_not = why_no_tied_parameters(profile, key);
  if (table.why_not.empty() && decoder_length > 0 && !knows_decoder) {
    table.why_not = why_no_decoder();
  }
  if (!table.why_not.empty()) {
    table.status = ShapeStatus::kUntried;
    table.notes.clear();
    return table;
  }
  table.sections.reserve(profile.sections.size());
  for (const Section& section : profile.sections) {
    table.sections.push_back(by_type[static_cast<std::size_t>(section.type)]);
  }
  return table;
}

}  // namespace penstock
