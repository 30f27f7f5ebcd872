// Where the weights of a stage lie: a few flat segments, so that reductions, optimizer and gathers
// work on long runs of elements. One segment holds the stage's own weights, one more each tie that
// it shares with other stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "training/model_outline.h"
#include "training/rank_setup.h"

namespace penstock {

struct ElementRange {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  bool operator==(const ElementRange&) const = default;
};

// Sections of the stage that share a tensor have it in the same place.
struct PlacedParameter {
  int section = 0, parameter = 0;  // as in the outline
  ElementRange place;
  bool operator==(const PlacedParameter&) const = default;
};

struct Segment {
  int tie = -1;  // index into RankSetup::ties; -1: the stage's own weights
  std::vector<PlacedParameter> parameters;  // by section
  std::size_t elements = 0;                 // padding included, which is zero for ever
  std::size_t decayed_end = 0;              // [0, decayed_end) are what weight decay is for
  std::vector<ElementRange> buckets;        // all elements; with ZeRO-1 each in equal parts
  std::vector<ElementRange> owned;          // what this holder's optimizer steps
  bool counted = false;  // whether the owned elements count in this rank's part of the norm
  bool operator==(const Segment&) const = default;
};

// Where in a compact tensor of all owned elements each owned range begins.
std::vector<std::size_t> owned_offsets(const Segment& segment);

inline constexpr std::size_t kBucketBytes = std::size_t{25} << 20;

// The stage's own segment first, then ties in the order of `setup`. Buckets hold about
// `bucket_elements`.
std::vector<Segment> stage_layout(const ModelOutline& outline, const RankSetup& setup,
                                  const StageSetup& stage, std::size_t bucket_elements);

}  // namespace penstock
