// A figure between measured rows is rounded by itself, and B = I + W is restored where it holds by
// definition. Where there is no price, the reason names the first part of the key that the profile
// lacks and what it has in its place.
#include "costmodel/section_price.h"

#include <algorithm>
#include <set>

#include "costmodel/interpolate.h"
#include "costmodel/sources.h"
#include "costmodel/step_prices.h"

namespace penstock {
namespace {

std::string in_words(const SectionKey& key) {
  std::string others;
  if (key.others.context > 1) others += ", context degree " + std::to_string(key.others.context);
  if (key.others.expert > 1) others += ", expert degree " + std::to_string(key.others.expert);
  if (key.others.expert_tensor > 0) {
    others += ", expert tensor degree " + std::to_string(key.others.expert_tensor);
  }
  return "device '" + key.device + "', tensor degree " + std::to_string(key.tensor_degree) +
         others + ", recompute '" + key.recompute + "'";
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
std::string what_is_available(const SectionType& type, const SectionKey& key) {
  std::set<std::string> devices, modes;
  std::set<int> degrees, contexts, experts, within;
  for (const Measurement& m : type.measurements) {
    devices.insert(m.device);
    if (m.device != key.device) continue;
    degrees.insert(m.tensor_degree);
    if (m.tensor_degree != key.tensor_degree) continue;
    contexts.insert(m.context_degree);
    if (m.context_degree != key.others.context) continue;
    experts.insert(m.expert_degree);
    if (m.expert_degree != key.others.expert) continue;
    within.insert(m.expert_tensor_degree > 0 ? m.expert_tensor_degree : m.tensor_degree);
    if (m.expert_tensor_degree == key.others.expert_tensor) modes.insert(m.recompute);
  }
  if (!devices.contains(key.device)) return "measured on devices: " + listed(devices);
  if (!degrees.contains(key.tensor_degree)) return "measured tensor degrees: " + listed(degrees);
  if (!contexts.contains(key.others.context)) {
    return "measured context degrees: " + listed(contexts);
  }
  if (!experts.contains(key.others.expert)) return "measured expert degrees: " + listed(experts);
  if (!within.contains(key.others.expert_tensor_of(key.tensor_degree))) {
    return "measured expert tensor degrees: " + listed(within);
  }
  return "measured recompute modes: " + listed(modes);
}

std::string why_no_parameters(const std::string& what, const std::vector<ParameterCount>& counts,
                              const SectionKey& key) {
  std::set<int> degrees;
  for (const ParameterCount& count : counts) degrees.insert(count.tensor_degree);
  return "no parameter count of " + what + " (" + in_words(key) +
         "); counted for tensor degrees: " + listed(degrees);
}

}  // namespace

std::string why_no_price(const SectionType& type, const std::vector<SectionGrid>& grids,
                         const SectionKey& key) {
  // Asked for by the thousand: words are made where they are needed.
  const bool has_rows = !grids.empty();
  const bool lacks_decoder =
      has_rows && grids.front().decoder_length > 0 && key.decoder_length == 0;
  const bool lacks_length =
      has_rows && key.sequence_length == 0 && grids.front().rows.front().length > 0;
  const bool is_counted = parameters_at(type.parameters, key.tensor_degree).has_value();
  if (has_rows && !lacks_decoder && !lacks_length && is_counted) return {};
  const std::string what = "section type '" + type.name + "'";
  if (!has_rows) {
    return "no measurement of " + what + " (" + in_words(key) + "); " +
           what_is_available(type, key);
  }
  const std::vector<GridRow>& rows = grids.front().rows;
  if (lacks_decoder) {
    return "no measurement of " + what +
           " without a length of the decoder; say the micro-batches' decoder_tokens (a batch file)";
  }
  if (lacks_length) {
    std::set<int> lengths;
    for (const GridRow& row : rows) lengths.insert(row.length);
    return "no measurement of " + what + " without a sequence length (" + in_words(key) +
           "); measured sequence lengths: " + listed(lengths);
  }
  return why_no_parameters(what, type.parameters, key);
}

std::string why_no_tied_parameters(const ModelProfile& profile, const SectionKey& key) {
  for (const TiedWeights& tied : profile.tied_weights) {
    if (parameters_at(tied.parameters, key.tensor_degree)) continue;
    return why_no_parameters("tied weights '" + tied.name + "'", tied.parameters, key);
  }
  return {};
}

std::string why_no_decoder() {
  return "no times of a decoder with a length of its own (decoder_tokens): profiles are "
         "measured at one length";
}

namespace {

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

// B stands still for the collectives of I and of W.
void add_traffic(const GridSample& sample, const SectionKey& key, const SectionGroups& groups,
                 SectionPrice& section) {
  ComputePrice& p = section.price;
  const TrafficTimes times =
      traffic_times(sample, key.samples, key.sequence_length, key.decoder_length, groups,
                    p.input_gradient.duration, p.weight_gradient.duration);
  p.forward.duration += times.forward;
  p.input_gradient.duration += times.input_gradient;
  p.weight_gradient.duration += times.weight_gradient;
  p.fused_backward.duration += times.input_gradient + times.weight_gradient;
  p.recompute.duration += times.recompute;
  p.forward_experts = times.forward_experts;
  p.backward_experts = times.backward_experts;
  p.recompute_experts = times.recompute_experts;
  // Beside another micro-batch's compute its tokens are on their way.
  p.overlap_gain =
      std::min(times.forward_experts, p.fused_backward.duration - times.backward_experts) +
      std::min(times.backward_experts, p.forward.duration - times.forward_experts);
  section.traffic_time =
      times.forward + times.input_gradient + times.weight_gradient + times.recompute;
  section.at_torch_rate = times.at_torch_rate;
}

}  // namespace

Duration compute_time(const ComputePrice& p) {
  return p.forward.duration + p.fused_backward.duration + p.recompute.duration;
}

SectionPrice price_with_traffic(const GridSample& sample, const SectionKey& key,
                                const SectionGroups& groups) {
  SectionPrice section;
  section.price = compute_price(sample);
  add_traffic(sample, key, groups, section);
  return section;
}

SectionPrice section_price(const ModelProfile& profile, const GridSample& sample,
                           const SectionKey& key, const SectionGroups& groups) {
  SectionPrice section = price_with_traffic(sample, key, groups);
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

}  // namespace penstock
