// Within a segment the weights that decay stand first, and every tensor begins on a multiple of 64
// elements. A segment is divided into buckets, each of a size that its holders can share evenly;
// under ZeRO-1 a holder owns its part of every bucket. A weight counts in the gradient norm on
// exactly one rank of the job, or in parts where it is sharded.
#include "training/stage_layout.h"

#include <algorithm>

namespace penstock {
namespace {

// GPU kernels want their operands on 128-byte boundaries, in any precision.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t rounded_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The tie of `outline` that a parameter belongs to; -1: none.
int tie_of(const ModelOutline& outline, int section, int parameter) {
  for (std::size_t t = 0; t < outline.ties.size(); ++t) {
    const TieOutline& tie = outline.ties[t];
    for (std::size_t i = 0; i < tie.sections.size(); ++i) {
      if (tie.sections[i] == section && tie.parameters[i] == parameter) return static_cast<int>(t);
    }
  }
  return -1;
}

// Index into the setup's ties when the stage shares it with other stages, else -1.
int tie_with_others(const RankSetup& setup, const TieOutline& tie, int stage) {
  for (std::size_t i = 0; i < setup.ties.size(); ++i) {
    const std::vector<int>& stages = setup.ties[i].stages;
    if (setup.ties[i].name == tie.name && stages.size() > 1 &&
        std::find(stages.begin(), stages.end(), stage) != stages.end()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Segments without buckets yet.
class LayoutBuilder {
 public:
  LayoutBuilder(const ModelOutline& outline, const RankSetup& setup, const StageSetup& stage)
      : outline_(outline), setup_(setup), stage_(stage) {}

  std::vector<Segment> build() {
    for (int s = stage_.first_section; s < stage_.end_section; ++s) {
      place_own(s);
      place_frozen(s);
      for (std::size_t t = 0; t < outline_.ties.size(); ++t) place_shared(s, static_cast<int>(t));
    }
    return std::move(segments_);
  }

 private:
  [[nodiscard]] const std::vector<ParameterOutline>& parameters_of(int section) const {
    return outline_.sections[static_cast<std::size_t>(section)].parameters;
  }

  // Decayed first, so that weight decay is for one run of elements.
  void place_own(int s) {
    Segment segment;
    segment.at.section = s;
    place_those(s, /*decayed=*/true, segment);
    segment.at.decayed_end = segment.at.elements;
    place_those(s, /*decayed=*/false, segment);
    if (segment.parameters.empty()) return;
    std::ranges::sort(segment.parameters, {}, &PlacedParameter::parameter);
    segments_.push_back(std::move(segment));
  }
  // Shared ones with every section that reads them.
  void place_frozen(int s) {
    Segment segment;
    segment.at.section = s;
    segment.at.frozen = true;
    place_those(s, /*decayed=*/true, segment);
    place_those(s, /*decayed=*/false, segment);
    if (segment.parameters.empty()) return;
    std::ranges::sort(segment.parameters, {}, &PlacedParameter::parameter);
    segments_.push_back(std::move(segment));
  }
  void place_those(int s, bool decayed, Segment& segment) const {
    const auto& parameters = parameters_of(s);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto index = static_cast<int>(i);
      if (parameters[i].frozen != segment.at.frozen || parameters[i].decays() != decayed ||
          tie_of(outline_, s, index) >= 0) {
        continue;
      }
      const auto count = static_cast<std::size_t>(parameters[i].count());
      const std::size_t begin = segment.at.elements;
      segment.parameters.push_back({s, index, {begin, begin + count}});
      segment.at.elements += rounded_up(count, kAlignment);
    }
  }

  // At the first section of the stage that has it, for all of them.
  void place_shared(int s, int t) {
    const TieOutline& tie = outline_.ties[static_cast<std::size_t>(t)];
    Segment segment;
    segment.at.section = s;
    segment.at.shared = t;
    segment.tie = tie_with_others(setup_, tie, stage_.stage);
    for (std::size_t i = 0; i < tie.sections.size(); ++i) {
      const int other = tie.sections[i];
      if (other < stage_.first_section || other >= stage_.end_section) continue;
      if (other < s) return;  // placed there
      const ParameterOutline& parameter =
          parameters_of(other)[static_cast<std::size_t>(tie.parameters[i])];
      const auto count = static_cast<std::size_t>(parameter.count());
      segment.parameters.push_back({other, tie.parameters[i], {0, count}});
      segment.at.elements = rounded_up(count, kAlignment);
      segment.at.decayed_end = parameter.decays() ? segment.at.elements : 0;
    }
    if (segment.parameters.empty() || segment.parameters.front().section != s) return;
    segments_.push_back(std::move(segment));
  }

  const ModelOutline& outline_;
  const RankSetup& setup_;
  const StageSetup& stage_;
  std::vector<Segment> segments_;
};

std::vector<ElementRange> buckets_of(std::size_t elements, std::size_t bucket) {
  std::vector<ElementRange> buckets;
  buckets.reserve(elements / bucket + 1);
  for (std::size_t begin = 0; begin < elements; begin += bucket) {
    buckets.push_back({begin, std::min(begin + bucket, elements)});
  }
  return buckets;
}

// Part `holder` of each bucket.
std::vector<ElementRange> parts_of(const std::vector<ElementRange>& buckets, int holder,
                                   int holders) {
  std::vector<ElementRange> parts;
  parts.reserve(buckets.size());
  for (const ElementRange& bucket : buckets) {
    const std::size_t size = bucket.size() / static_cast<std::size_t>(holders);
    const std::size_t begin = bucket.begin + static_cast<std::size_t>(holder) * size;
    parts.push_back({begin, begin + size});
  }
  return parts;
}

void divide(Segment& segment, const RankSetup& setup, const StageSetup& stage,
            std::size_t bucket_elements) {
  SegmentPlace& at = segment.at;
  if (at.frozen) return;  // nothing to reduce, to step or to count
  const bool shards = setup.zero1 && segment.tie < 0 && stage.shards() > 1;
  const std::size_t unit = shards ? kAlignment * static_cast<std::size_t>(stage.shards()) : 1;
  const bool all_decays = at.decayed_end == at.elements;
  at.elements = rounded_up(at.elements, unit);
  if (all_decays) at.decayed_end = at.elements;  // padding is zero either way
  segment.buckets = buckets_of(at.elements, std::max(unit, rounded_up(bucket_elements, unit)));
  at.owned = {{0, at.elements}};
  if (shards) {
    at.owned = parts_of(segment.buckets, stage.shard(), stage.shards());
    at.by_section = setup.by_section;
    segment.copies = stage.shard_groups;
    segment.copy = stage.shard_group();
  }
  // Of a tie by its first stage in the first replica: with two copies of the weights that need not
  // be the first of the stage's holders.
  const bool counts =
      segment.tie < 0
          ? stage.holder == 0
          : setup.replica == 0 &&
                setup.ties[static_cast<std::size_t>(segment.tie)].stages.front() == stage.stage;
  segment.counted = shards ? segment.copy == 0 : counts;
}

}  // namespace

std::vector<std::size_t> owned_offsets(const SegmentPlace& segment) {
  std::vector<std::size_t> offsets;
  offsets.reserve(segment.owned.size() + 1);
  offsets.push_back(0);
  for (const ElementRange& range : segment.owned) offsets.push_back(offsets.back() + range.size());
  return offsets;
}

std::vector<Segment> stage_layout(const ModelOutline& outline, const RankSetup& setup,
                                  const StageSetup& stage, std::size_t bucket_elements) {
  std::vector<Segment> segments = LayoutBuilder(outline, setup, stage).build();
  for (Segment& segment : segments) divide(segment, setup, stage, bucket_elements);
  return segments;
}

}  // namespace penstock
