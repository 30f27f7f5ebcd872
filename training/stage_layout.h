// Where the weights of a stage lie: a flat segment per section, and one per tensor that sections
// share, so that reductions, optimizer and gathers work on long runs of elements, and a section's
// weights stay where they are when another plan puts it into another stage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "training/model_outline.h"
#include "training/rank_setup.h"

namespace penstock {

struct ElementRange {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  bool operator==(const ElementRange&) const = default;
};
// Empty where they have no element in common.
inline ElementRange common(const ElementRange& a, const ElementRange& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// Sections of the stage that share a tensor have it in the same place.
struct PlacedParameter {
  int section = 0, parameter = 0;  // as in the outline
  ElementRange place;
  bool operator==(const PlacedParameter&) const = default;
};

// What decides whether memory of one plan serves another: of which weights, and which of them the
// optimizer steps here.
struct SegmentPlace {
  int section = 0;  // whose weights; of a shared tensor, the first section of the stage with it
  int shared = -1;  // index into ModelOutline::ties; -1: the section's weights that it shares with
                    // no other
  std::size_t elements = 0;         // padding included, which is zero for ever
  std::size_t decayed_end = 0;      // [0, decayed_end) are what weight decay is for
  std::vector<ElementRange> owned;  // what this holder's optimizer steps
  bool frozen = false;              // the section's frozen parameters: nothing but weights
  // Of what of the owned elements only are kept from one action to the next.
  SectionSharding by_section = SectionSharding::kNone;
  bool operator==(const SegmentPlace&) const = default;
};

struct Segment {
  SegmentPlace at;
  int tie = -1;  // index into RankSetup::ties: of other stages too, reduced apart; -1: none
  std::vector<PlacedParameter> parameters;  // by section
  std::vector<ElementRange> buckets;        // all elements; with ZeRO-1 each in equal parts
  int copies = 1, copy = 0;  // of the owned elements, where others own the same (HSDP): which
  bool counted = false;      // whether the owned elements count in this rank's part of the norm
  bool operator==(const Segment&) const = default;
};

// Where in a compact tensor of all owned elements each owned range begins.
std::vector<std::size_t> owned_offsets(const SegmentPlace& segment);

inline constexpr std::size_t kBucketBytes = std::size_t{25} << 20;

// By section: its own weights, then what it is the first of the stage to share, by tie. Sections
// without weights of their own have no segment. Buckets hold about `bucket_elements`.
std::vector<Segment> stage_layout(const ModelOutline& outline, const RankSetup& setup,
                                  const StageSetup& stage, std::size_t bucket_elements);

}  // namespace penstock
