// A row of a profile says how many collectives of which size a section has, and which of them its
// runtime hides beside I and W; bytes grow with the tokens from the nearest measured row. Groups
// of the cluster that are alike are priced once, and the slowest counts. What is hidden shows only
// as far as it outlasts the compute beside it.
#include "costmodel/tensor_traffic.h"

#include <algorithm>

#include "costmodel/device_places.h"
#include "costmodel/interpolate.h"
#include "costmodel/links.h"
#include "costmodel/torch_ring.h"

namespace penstock {
namespace {

Bytes bytes_at(const TensorTraffic& traffic, const Measurement& measured, int samples,
               int sequence_length, int decoder_length) {
  double tokens = static_cast<double>(samples) / measured.micro_batch_size;
  if (measured.decoder_length > 0) {
    tokens *= static_cast<double>(decoder_length) / measured.decoder_length;
  } else if (measured.sequence_length > 0) {
    tokens *= static_cast<double>(sequence_length) / measured.sequence_length;
  }
  return whole_bytes(static_cast<double>(traffic.bytes.count) * tokens);
}

// How many tokens more than were measured.
double more_tokens(const Measurement& measured, int samples, int sequence_length) {
  const double more = static_cast<double>(samples) / measured.micro_batch_size;
  if (measured.sequence_length == 0) return more;  // the model has no such dimension
  return more * (static_cast<double>(sequence_length) / measured.sequence_length);
}

Bytes times_more(Bytes bytes, double more) {
  return whole_bytes(static_cast<double>(bytes.count) * more);
}

// Bytes grow with the tokens, attention with the pairs of them; a section with a ring has tokens.
void add_ring(const Measurement& measured, int samples, int sequence_length,
              const ContextRings& rings, TrafficTimes& times) {
  const RingTraffic& ring = *measured.ring;
  const double more = more_tokens(measured, samples, sequence_length);
  const double longer = static_cast<double>(sequence_length) / measured.sequence_length;
  const Bytes bytes = times_more(ring.bytes, more);
  const auto beside = [&](Duration attention) { return scaled(attention, more * longer); };
  times.forward += rings.shown(bytes, beside(ring.beside_forward));
  times.input_gradient += rings.shown(bytes + bytes, beside(ring.beside_backward));
  if (ring.beside_recompute) {
    times.recompute += rings.shown(bytes, beside(*ring.beside_recompute));
  }
}

// Keys and values of all ranks before attention, in the backward once more; then their gradients
// are summed up (Transformer Engine, AttnFuncWithCPAndKVAllGather; Llama 3, arXiv 2407.21783).
// Ulysses exchanges parts of sequences for heads and back (arXiv 2309.14509), in the backward
// their gradients. Nothing is beside them.
void add_context_collectives(const Measurement& measured, int samples, int sequence_length,
                             const ContextRings& ranks, TrafficTimes& times) {
  const RingTraffic& ring = *measured.ring;
  const double more = more_tokens(measured, samples, sequence_length);
  const bool gathers = ranks.kind() == ContextKind::kAllGather;
  const Bytes bytes = times_more(gathers ? ring.bytes : ring.exchanged, more);
  const Duration one = gathers ? ranks.gather_time(bytes) : ranks.exchanged_time(bytes);
  times.forward += one;
  times.input_gradient += one;
  if (gathers) times.input_gradient += ranks.scatter_time(bytes);
  if (ring.beside_recompute) times.recompute += one;
}

// As PyTorch does it (torch/distributed/tensor/experimental/_attention.py): keys and values are
// gathered beside the first part, or go round; their gradients, in 32 bits where those have 16, are
// passed on behind each of the C parts, so that they end where they belong. Behind the last one
// nothing is left to compute.
void add_passed_on(const Measurement& measured, int samples, int sequence_length,
                   const ContextRings& ranks, TrafficTimes& times) {
  const RingTraffic& ring = *measured.ring;
  const double more = more_tokens(measured, samples, sequence_length);
  const double longer = static_cast<double>(sequence_length) / measured.sequence_length;
  const Bytes keys = times_more(ring.bytes, more), gradients = keys + keys;
  const TorchRing rotation(ranks);
  const bool gathers = ranks.kind() == ContextKind::kAllGather;
  const auto shown = [&](Duration beside) {
    return gathers ? rotation.shown_gather(keys, beside) : rotation.shown_steps(keys, beside);
  };
  const Duration forward = shown(scaled(ring.beside_forward, more * longer));
  const Duration recompute =
      ring.beside_recompute ? shown(scaled(*ring.beside_recompute, more * longer)) : Duration{};
  const Duration beside = scaled(ring.beside_backward, more * longer);
  const Duration backward = (gathers ? shown(beside) : Duration{}) +
                            rotation.shown_steps(gathers ? gradients : keys + gradients, beside) +
                            rotation.step_time(gradients);
  times.forward += forward;
  times.input_gradient += backward;
  times.recompute += recompute;
  if (rotation.is_limited(gradients)) times.at_torch_rate = forward + backward + recompute;
}

// Each way once in every direction.
void add_experts(const Measurement& measured, int samples, int sequence_length,
                 const ExpertGroups& groups, TrafficTimes& times) {
  const ExpertTraffic& traffic = *measured.experts;
  const double more = more_tokens(measured, samples, sequence_length);
  const Duration both = groups.time(traffic, times_more(traffic.dispatched, more)) +
                        groups.time(traffic, times_more(traffic.combined, more));
  times.forward_experts = times.backward_experts = both;
  if (traffic.again) times.recompute_experts = both;
  times.forward += times.forward_experts;
  times.input_gradient += times.backward_experts;
  times.recompute += times.recompute_experts;
}

}  // namespace

TensorGroups::TensorGroups(const ClusterSpec& cluster, const std::string& device, int tensor_degree)
    : cluster_(cluster) {
  Plan all;
  all.device = device;
  all.tensor = tensor_degree;
  all.data = devices_of_type(cluster, device) / tensor_degree;
  if (tensor_degree < 2 || all.data < 1) return;
  const DevicePlaces places(cluster, all);
  std::vector<int> devices(static_cast<std::size_t>(tensor_degree));
  for (int group = 0; group < all.data; ++group) {
    for (int t = 0; t < tensor_degree; ++t) {
      devices[static_cast<std::size_t>(t)] = places.device_of(0, group, t);
    }
    Collective one{group_shape(places.layout(), devices), 1};
    const GroupLevel& top = one.group.levels.back();
    one.rings = std::max(top.beside / top.members, 1);
    if (std::find(groups_.begin(), groups_.end(), one) == groups_.end()) {
      groups_.push_back(std::move(one));
    }
  }
}

Duration TensorGroups::time(CollectiveKind kind, Bytes bytes) const {
  Duration slowest{};
  for (const Collective& each : groups_) {
    slowest = std::max(slowest, group_time(cluster_, kind, each.group, bytes, each.rings));
  }
  return slowest;
}

int TensorGroups::level() const {
  int level = -1;
  for (const Collective& each : groups_) {
    level = std::max(level, static_cast<int>(each.group.levels.size()) - 1);
  }
  return level;
}

TrafficTimes traffic_times(const GridSample& sample, int samples, int sequence_length,
                           int decoder_length, const SectionGroups& groups, Duration input_gradient,
                           Duration weight_gradient) {
  const Measurement& nearest = *sample.from.front();
  TrafficTimes times;
  Duration beside_input_gradient{}, beside_weight_gradient{};
  for (const TensorTraffic& each : nearest.tensor_traffic) {
    const Duration one = groups.tensor.time(
        each.kind, bytes_at(each, nearest, samples, sequence_length, decoder_length));
    times.forward += each.forward * one;
    times.input_gradient += each.input_gradient * one;
    times.weight_gradient += each.weight_gradient * one;
    times.recompute += each.recompute * one;
    beside_input_gradient += each.beside_input_gradient * one;
    beside_weight_gradient += each.beside_weight_gradient * one;
  }
  if (nearest.ring && groups.rings != nullptr) {
    const ContextKind kind = groups.rings->kind();
    const bool passed_on = kind != ContextKind::kUlysses && passes_gradients_on(nearest);
    const auto add = passed_on                    ? add_passed_on
                     : kind == ContextKind::kRing ? add_ring
                                                  : add_context_collectives;
    add(nearest, samples, sequence_length, *groups.rings, times);
  }
  if (nearest.experts && groups.experts != nullptr) {
    add_experts(nearest, samples, sequence_length, *groups.experts, times);
  }
  times.input_gradient += std::max(beside_input_gradient - input_gradient, Duration{});
  times.weight_gradient += std::max(beside_weight_gradient - weight_gradient, Duration{});
  return times;
}

}  // namespace penstock
