// What the collectives of tensor parallelism, and with them those of context and expert
// parallelism, add to the times of a section, on a given cluster.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/profile.h"
#include "core/values/units.h"
#include "costmodel/context_ring.h"
#include "costmodel/exchange.h"
#include "costmodel/plan_wiring.h"
#include "costmodel/section_grid.h"

namespace penstock {

// How the tensor-parallel groups of a device type lie: every T consecutive devices of the type are
// one, and all of them work at once.
class TensorGroups {
 public:
  // Keeps the cluster by reference.
  TensorGroups(const ClusterSpec& cluster, const std::string& device, int tensor_degree);

  // Of the slowest group: one rank waits for the other ranks of the pipeline as long as for its
  // own.
  [[nodiscard]] Duration time(CollectiveKind kind, Bytes bytes) const;
  // The outermost level that a group uses; -1: there is no group of more than one device.
  [[nodiscard]] int level() const;

 private:
  const ClusterSpec& cluster_;
  std::vector<Collective> groups_;  // distinct ones
};

// The groups that the ranks of a section belong to. Without rings sequences are whole, without
// experts' groups every rank has all experts of a layer.
struct SectionGroups {
  const TensorGroups& tensor;
  const ContextRings* rings = nullptr;
  const ExpertGroups* experts = nullptr;
};

struct TrafficTimes {
  Duration forward{}, input_gradient{}, weight_gradient{}, recompute{};
  // Of them tokens on their way to experts and back.
  Duration forward_experts{}, backward_experts{}, recompute_experts{};
  // Of all of them what goes at TorchRing::kMostPerDevice.
  Duration at_torch_rate{};
};

// Of a section at (samples, sequence length), whose I and W take so long without collectives. The
// list is that of the nearest measurement; its bytes grow in proportion to the tokens, which are
// those of the decoder where the section knows its length.
TrafficTimes traffic_times(const GridSample& sample, int samples, int sequence_length,
                           int decoder_length, const SectionGroups& groups, Duration input_gradient,
                           Duration weight_gradient);

}  // namespace penstock
