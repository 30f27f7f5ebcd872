// The device types of a layout's ranks and what its replicas differ in, as `predict --layout` has
// it: "devices=2*a100+2*v100", "replicas=2*a100:24/(a100+3*v100):8".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan.h"

namespace penstock {

// So many ranks in a row on one device type; 0: all ranks of the pipeline.
struct RanksOn {
  int ranks = 0;
  std::string device;
  bool operator==(const RanksOn&) const = default;
};

// Replicas that are alike.
struct ReplicasOn {
  int replicas = 1;
  std::vector<RanksOn> ranks;
  std::optional<int> samples;  // per step, of each; nothing: an even part of what the others leave
  bool operator==(const ReplicasOn&) const = default;
};

// "a100" (all ranks) or "2*a100+2*v100". Error{kBadInput}.
std::vector<RanksOn> parse_ranks_on(std::string_view option, std::string_view text);
// Kinds between "/", each [COUNT*]DEVICE[:SAMPLES] or [COUNT*](DEVICES)[:SAMPLES].
std::vector<ReplicasOn> parse_replicas_on(std::string_view option, std::string_view text);

// D, of all kinds.
int replicas_in(const std::vector<ReplicasOn>& kinds);
// The batch that the kinds' shares and, for those without one, `of_each` samples make; nothing
// when there is neither.
std::optional<int> batch_in(std::string_view option, const std::vector<ReplicasOn>& kinds,
                            std::optional<int> of_each);

// Sets the device types of all ranks, and where there are several kinds of replicas those and their
// shares; `plan` has P, D and the batch.
void set_ranks_on(std::string_view option, const std::vector<RanksOn>& ranks, Plan& plan);
void set_replicas_on(std::string_view option, const std::vector<ReplicasOn>& kinds, Plan& plan);

}  // namespace penstock
