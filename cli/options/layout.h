// One configuration, as people who run it write it down: "TP=4 PP=8 DP=2 mbs=1 gb=128 seq=8192
// schedule=interleaved V=5 cuts=0,5,..". What `predict --layout` and `plan --measured` take.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/layout_replicas.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/sharding.h"

namespace penstock {

enum class DefaultCuts {
  kEqualLayers,  // as trainers do: layers in equal numbers, what stands before and behind at the
                 // ends
  kSearched,     // as the search does, by times and memory
};

// What was said; the rest is nothing.
struct Layout {
  std::optional<int> tensor, context, expert, expert_tensor, pipeline, data, chunks,
      micro_batch_size, global_batch, micro_batches, sequence_length;
  std::optional<std::string> schedule, recompute, device;
  std::optional<ContextKind> context_kind;
  std::optional<bool> zero1;
  std::optional<ShardingChoice> sharding;
  std::optional<int> shards;  // of FSDP, over so many ranks
  bool offload = false;       // the optimizer's state, to the host
  std::optional<Placement> placement;
  DefaultCuts default_cuts = DefaultCuts::kEqualLayers;
  std::vector<int> cuts;                // empty: default_cuts
  std::vector<RanksOn> devices;         // of all replicas
  std::vector<ReplicasOn> replicas;     // empty: all alike
  std::vector<int> recompute_sections;  // per stage; empty: the mode in all sections
};

// KEY=VALUE, separated by blanks or commas. Error{kBadInput}, which names `option`, the key, and
// the nearest one that there is.
Layout parse_layout(std::string_view option, std::string_view text);

// Those that `devices` and `replicas` name, each once.
std::vector<std::string> device_types_of(const Layout& layout);

// What fills the gaps.
struct LayoutDefaults {
  int gpus = 0;             // 0: D is 1 where it is not said
  int global_batch = 0;     // 0: must be said, or M
  int sequence_length = 0;  // of the model
  std::string device;       // empty: must be said
};

// The fewest replicas that have all experts between them.
int least_replicas(const Layout& layout);

// Error{kBadInput} when something is missing, or contradicts itself. Its cuts are empty when they
// are to be searched.
Plan plan_of(const Layout& layout, const ModelProfile& profile, const LayoutDefaults& defaults,
             std::string_view option);

// What every trainer does that balances nothing: the sections that repeat in equal numbers, the
// first stages one more; what stands before them on the first stage, what stands behind on the
// last.
std::vector<int> equal_layer_cuts(const ModelProfile& profile, int stages);

}  // namespace penstock
