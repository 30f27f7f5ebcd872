// Which rank holds which virtual stage of a pipeline.
#pragma once

#include <string_view>

namespace penstock {

enum class StageMap {
  kLoop,           // stage s on rank s mod P
  kV,              // two stages per rank: s, and 2P - 1 - s, so that the last follows the first
  kBidirectional,  // two copies of the weights: stage s of copy 0 on rank s, of copy 1 on P - 1 - s
};

constexpr std::string_view name_of(StageMap map) {
  if (map == StageMap::kLoop) return "loop";
  return map == StageMap::kV ? "v" : "bidirectional";
}

// Copies of the model's weights in one pipeline. Stage P + s is stage s of the second copy.
constexpr int copies_of(StageMap map) { return map == StageMap::kBidirectional ? 2 : 1; }

constexpr int rank_of_stage(StageMap map, int ranks, int stage) {
  if (map == StageMap::kLoop) return stage % ranks;
  return stage < ranks ? stage : 2 * ranks - 1 - stage;
}

}  // namespace penstock
