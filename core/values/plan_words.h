// The words that penstock.plan/2 uses for enumerations, and the keys of what is predicted of a
// rank: one table each for writing and reading.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/json_reader.h"
#include "core/values/model_flops.h"
#include "core/values/plan.h"
#include "core/values/program.h"
#include "core/values/rule_facts.h"
#include "core/values/stage_prices.h"

namespace penstock {

// What F and B hold beside compute, by their keys without _ns; left out where they are 0.
inline constexpr std::array<std::pair<std::string_view, Duration ComputePrice::*>, 5> kShardedTimes{
    {{"forward_sharded", &ComputePrice::forward_sharded},
     {"backward_sharded", &ComputePrice::backward_sharded},
     {"forward_experts", &ComputePrice::forward_experts},
     {"backward_experts", &ComputePrice::backward_experts},
     {"recompute_experts", &ComputePrice::recompute_experts}}};

template <class Enum, std::size_t N>
using Words = std::array<std::pair<Enum, std::string_view>, N>;

inline constexpr Words<Placement, 2> kPlacementWords{{
    {Placement::kPipelineInner, "pipeline_inner"},
    {Placement::kDataInner, "data_inner"},
}};
// What is sharded beside the state of the optimizer; "zero1" says whether that is.
inline constexpr Words<Sharding, 4> kShardingWords{{
    {Sharding::kState, "zero1"},
    {Sharding::kGradients, "zero2"},
    {Sharding::kParameters, "zero3"},
    {Sharding::kFsdp, "fsdp"},
}};
inline constexpr Words<ContextKind, 3> kContextKindWords{{
    {ContextKind::kRing, "ring"},
    {ContextKind::kAllGather, "all_gather"},
    {ContextKind::kUlysses, "ulysses"},
}};
inline constexpr Words<StageMap, 3> kStageMapWords{{
    {StageMap::kLoop, name_of(StageMap::kLoop)},
    {StageMap::kV, name_of(StageMap::kV)},
    {StageMap::kBidirectional, name_of(StageMap::kBidirectional)},
}};
inline constexpr Words<TransferMode, 3> kTransferWords{{
    {TransferMode::kAsync, "async"},
    {TransferMode::kSenderBlocks, "sender_blocks"},
    {TransferMode::kRendezvous, "rendezvous"},
}};
inline constexpr Words<QueueLayout, 4> kQueueWords{{
    {QueueLayout::kNone, "none"},
    {QueueLayout::kPerDirection, "per_direction"},
    {QueueLayout::kPerPeer, "per_peer"},
    {QueueLayout::kPerRank, "per_rank"},
}};
inline constexpr Words<IssueOrder, 2> kIssueWords{{
    {IssueOrder::kEager, "eager"},
    {IssueOrder::kDeepSpeed, "deepspeed"},
}};
inline constexpr Words<OptimizerGate, 3> kOptimizerWords{{
    {OptimizerGate::kGlobalBarrier, "global_barrier"},
    {OptimizerGate::kPostValidation, "post_validation"},
    {OptimizerGate::kRolledBack, "rolled_back"},
}};
inline constexpr Words<HostLink, 2> kHostLinkWords{{
    {HostLink::kDuplex, "duplex"},
    {HostLink::kSimplex, "simplex"},
}};
inline constexpr Words<FlopConvention, 2> kFlopConventionWords{{
    {FlopConvention::kMegatron, "megatron_lm"},
    {FlopConvention::kPerParameter, "6_per_parameter"},
}};
inline constexpr Words<GroupKind, 3> kGroupWords{{
    {GroupKind::kDataParallel, "data_parallel"},
    {GroupKind::kTiedWeights, "tied_weights"},
    {GroupKind::kJob, "job"},
}};
inline constexpr auto kRuleWords = [] {
  Words<RunTimeRule, kRuleFacts.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = {kRuleFacts[i].rule, kRuleFacts[i].word};
  return words;
}();

// Keys without their units, "_bytes" and "_ns".
inline constexpr std::array<std::pair<std::string_view, Bytes MemoryUse::*>, 7> kMemoryKeys{{
    {"parameters", &MemoryUse::parameters},
    {"gradients", &MemoryUse::gradients},
    {"optimizer_state", &MemoryUse::optimizer_state},
    {"stash", &MemoryUse::stash},
    {"working_peak", &MemoryUse::working_peak},
    {"communication", &MemoryUse::communication},
    {"reserve", &MemoryUse::reserve},
}};
inline constexpr std::array<std::pair<std::string_view, Duration RankTime::*>, 7> kRankTimeKeys{{
    {"busy", &RankTime::busy},
    {"warm_up", &RankTime::warm_up},
    {"drain", &RankTime::drain},
    {"imbalance", &RankTime::imbalance},
    {"order", &RankTime::order},
    {"transfer", &RankTime::transfer},
    {"barrier", &RankTime::barrier},
}};
static_assert(sizeof(MemoryUse) == kMemoryKeys.size() * sizeof(Bytes), "a part without a key");
static_assert(sizeof(RankTime) == kRankTimeKeys.size() * sizeof(Duration), "a part without a key");

template <class Enum, std::size_t N>
std::string word_of(const Words<Enum, N>& words, Enum value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return std::string(word);
  }
  return {};
}

template <class Enum, std::size_t N>
Enum read_word(const JsonReader& reader, const Words<Enum, N>& words) {
  const std::string found = reader.string();
  std::string known;
  for (const auto& [value, word] : words) {
    if (word == found) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  reader.expected("one of " + known);
}

}  // namespace penstock
