// Looks every type of section up at one key (device, T, sample count, sequence length, mode) in its
// grid of measurements (section_grid.h), which interpolates between sizes, and says with notes what
// was interpolated, extended or assumed; where a type has no such rows, why_not names the part of
// the key that is missing and what there is instead.
//
// Invariant: B = I + W where the profile measured the parts, because each figure is rounded by
// itself and B is then made their sum.
#include <algorithm>
#include <cmath>
#include <set>

#include "costmodel/interpolate.h"
#include "costmodel/price_stages.h"
#include "costmodel/section_grid.h"
#include "costmodel/sources.h"
#include "costmodel/step_prices.h"
#include "costmodel/tensor_traffic.h"
#include "costmodel/used_types.h"

namespace penstock {
namespace {

struct Key {
  const std::string& device;
  int tensor_degree, samples, sequence_length;
  const std::string& recompute;
};

std::string in_words(const Key& key) {
  return "device '" + key.device + "', tensor degree " + std::to_string(key.tensor_degree) +
         ", recompute '" + key.recompute + "'";
}

const std::string& as_text(const std::string& value) { return value; }
std::string as_text(int value) { return std::to_string(value); }

template <class Values>
std::string listed(const Values& values) {
  std::string list;
  for (const auto& value : values) list += (list.empty() ? "" : ", ") + as_text(value);
  return list.empty() ? "nothing" : list;
}

// The first part of the key that the profile does not have, and what it has instead.
std::string what_is_available(const SectionType& type, const Key& key) {
  std::set<std::string> devices, modes;
  std::set<int> degrees;
  for (const Measurement& m : type.measurements) {
    devices.insert(m.device);
    if (m.device != key.device) continue;
    degrees.insert(m.tensor_degree);
    if (m.tensor_degree == key.tensor_degree) modes.insert(m.recompute);
  }
  if (!devices.contains(key.device)) return "measured on devices: " + listed(devices);
  if (!degrees.contains(key.tensor_degree)) return "measured tensor degrees: " + listed(degrees);
  return "measured recompute modes: " + listed(modes);
}

std::string why_no_parameters(const std::string& what, const std::vector<ParameterCount>& counts,
                              const Key& key) {
  if (parameters_at(counts, key.tensor_degree)) return {};
  std::set<int> degrees;
  for (const ParameterCount& count : counts) degrees.insert(count.tensor_degree);
  return "no parameter count of " + what + " (" + in_words(key) +
         "); counted for tensor degrees: " + listed(degrees);
}

std::string why_not(const SectionType& type, const SectionGrid& grid, const Key& key) {
  const std::string what = "section type '" + type.name + "'";
  if (grid.rows.empty()) {
    return "no measurement of " + what + " (" + in_words(key) + "); " +
           what_is_available(type, key);
  }
  if (key.sequence_length == 0 && grid.rows.front().length > 0) {
    std::set<int> lengths;
    for (const GridRow& row : grid.rows) lengths.insert(row.length);
    return "no measurement of " + what + " without a sequence length (" + in_words(key) +
           "); measured sequence lengths: " + listed(lengths);
  }
  return why_no_parameters(what, type.parameters, key);
}

std::string why_no_tied_parameters(const ModelProfile& profile, const Key& key) {
  for (const TiedWeights& tied : profile.tied_weights) {
    std::string why = why_no_parameters("tied weights '" + tied.name + "'", tied.parameters, key);
    if (!why.empty()) return why;
  }
  return {};
}

Price price(const GridSample& sample, Quantity time, Quantity spread) {
  return {whole_nanoseconds(sample.values[time]), whole_nanoseconds(sample.values[spread])};
}

// Each figure is rounded by itself, so B = I + W is restored where it holds by definition.
ComputePrice compute_price(const GridSample& sample) {
  ComputePrice p;
  p.forward = price(sample, kForwardTime, kForwardSpread);
  p.input_gradient = price(sample, kInputGradientTime, kInputGradientSpread);
  p.weight_gradient = price(sample, kWeightGradientTime, kWeightGradientSpread);
  p.fused_backward = price(sample, kFusedBackwardTime, kFusedBackwardSpread);
  p.recompute = price(sample, kRecomputeTime, kRecomputeSpread);
  if (!sample.split_measured) {
    p.weight_gradient.duration = std::min(p.weight_gradient.duration, p.fused_backward.duration);
    p.input_gradient.duration = p.fused_backward.duration - p.weight_gradient.duration;
  } else if (!sample.fused_measured) {
    p.fused_backward.duration = p.input_gradient.duration + p.weight_gradient.duration;
  }
  p.stash = whole_bytes(sample.values[kStash]);
  p.weight_stash = whole_bytes(sample.values[kWeightStash]);
  p.working_peak = whole_bytes(sample.values[kWorkingPeak]);
  p.boundary = whole_bytes(sample.values[kBoundary]);
  return p;
}

bool times_assumed(const ModelProfile& profile, const GridSample& sample) {
  return std::any_of(sample.from.begin(), sample.from.end(), [&](const Measurement* m) {
    return is_assumed(unmeasured_source(profile.sources, m->time_source));
  });
}

Duration compute_time(const ComputePrice& p) {
  return p.forward.duration + p.fused_backward.duration + p.recompute.duration;
}

// B stands still for the collectives of I and of W.
void add_traffic(const GridSample& sample, const Key& key, const TensorGroups& groups,
                 SectionPrice& section) {
  ComputePrice& p = section.price;
  const TrafficTimes times = traffic_times(sample, key.samples, key.sequence_length, groups,
                                           p.input_gradient.duration, p.weight_gradient.duration);
  p.forward.duration += times.forward;
  p.input_gradient.duration += times.input_gradient;
  p.weight_gradient.duration += times.weight_gradient;
  p.fused_backward.duration += times.input_gradient + times.weight_gradient;
  p.recompute.duration += times.recompute;
  section.traffic_time =
      times.forward + times.input_gradient + times.weight_gradient + times.recompute;
}

SectionPrice section_price(const ModelProfile& profile, const GridSample& sample, const Key& key,
                           const TensorGroups& groups) {
  SectionPrice section;
  section.price = compute_price(sample);
  add_traffic(sample, key, groups, section);
  section.launch_bound = sample.launch_bound;
  section.extrapolated = sample.beyond_samples || sample.beyond_length;
  const bool assumed = times_assumed(profile, sample);
  if (assumed) section.assumed_time = compute_time(section.price);
  if (!assumed && !sample.split_measured) {
    section.assumed_split_time = section.price.fused_backward.duration;
  }
  if (section.extrapolated) section.extrapolated_time = compute_time(section.price);
  return section;
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

void add_notes(const ModelProfile& profile, const SectionGrid& grid, const GridSample& sample,
               const ComputePrice& price, const Key& key, int type,
               std::vector<SectionNote>& notes) {
  const Duration touched = compute_time(price);
  for (const Measurement* m : sample.from) {
    note_source(profile, "compute times", m->time_source, type, touched, notes);
    note_source(profile, "activation memory", m->memory_source, type, Duration{}, notes);
  }
  const auto& section_type = profile.section_types[static_cast<std::size_t>(type)];
  note_source(profile, "parameter counts", section_type.parameter_source, type, Duration{}, notes);
  if (!sample.split_measured) {
    notes.push_back({type, split_note(profile, section_type.name, sample, price),
                     price.fused_backward.duration, true});
  }
  if (sample.beyond_samples) {
    notes.push_back(
        {type, beyond("micro-batch size", key.samples, sample.samples), touched, false});
  }
  if (sample.beyond_length) {
    const Range lengths{grid.rows.front().length, grid.rows.back().length};
    notes.push_back(
        {type, beyond("sequence length", key.sequence_length, lengths), touched, false});
  }
  if (key.tensor_degree > 1 && sample.from.front()->tensor_traffic.empty()) {
    notes.push_back({type, "TP traffic as measured, not scaled", touched, false});
  }
  if (sample.launch_bound) {
    notes.push_back({type, "launch-bound: a measured time lowered to that of a larger micro-batch",
                     touched, false});
  }
}

}  // namespace

SectionTable price_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                            const std::string& device, int tensor_degree, int samples,
                            int sequence_length, const std::string& recompute) {
  const Key key{device, tensor_degree, samples, sequence_length, recompute};
  SectionTable table;
  if (profile.sections.empty()) table.why_not = "model '" + profile.name + "' has no sections";
  const TensorGroups groups(cluster, device, tensor_degree);
  std::vector<SectionPrice> by_type(profile.section_types.size());
  for (const int type : used_types(profile)) {
    const auto index = static_cast<std::size_t>(type);
    const SectionGrid grid =
        section_grid(profile.section_types[index], device, tensor_degree, recompute);
    table.why_not = why_not(profile.section_types[index], grid, key);
    if (!table.why_not.empty()) break;
    const GridSample here = sample_at(grid, samples, sequence_length);
    by_type[index] = section_price(profile, here, key, groups);
    if (by_type[index].traffic_time > Duration{}) table.traffic_level = groups.level();
    add_notes(profile, grid, here, by_type[index].price, key, type, table.notes);
  }
  if (table.why_not.empty()) table.why_not = why_no_tied_parameters(profile, key);
  if (!table.why_not.empty()) {
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
