#include "training/stage_layout.h"

#include <algorithm>
#include <optional>

namespace penstock {
namespace {

// GPU kernels want their operands on 128-byte boundaries, in any precision.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t rounded_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

struct ParameterAt {
  int section = 0, parameter = 0;
  bool operator==(const ParameterAt&) const = default;
};

// The tie of `outline` that a parameter belongs to.
const TieOutline* tie_of(const ModelOutline& outline, const ParameterAt& at) {
  for (const TieOutline& tie : outline.ties) {
    for (std::size_t i = 0; i < tie.sections.size(); ++i) {
      if (ParameterAt{tie.sections[i], tie.parameters[i]} == at) return &tie;
    }
  }
  return nullptr;
}

// Index into the setup's ties when the stage shares it with other stages, else -1.
int shared_tie(const RankSetup& setup, const TieOutline* tie, int stage) {
  if (tie == nullptr) return -1;
  for (std::size_t i = 0; i < setup.ties.size(); ++i) {
    const std::vector<int>& stages = setup.ties[i].stages;
    if (setup.ties[i].name == tie->name && stages.size() > 1 &&
        std::find(stages.begin(), stages.end(), stage) != stages.end()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

class LayoutBuilder {
 public:
  LayoutBuilder(const ModelOutline& outline, const RankSetup& setup, const StageSetup& stage)
      : outline_(outline), setup_(setup), stage_(stage) {}

  std::vector<Segment> build() {
    segment_for(-1);
    for (int t = 0; t < static_cast<int>(setup_.ties.size()); ++t) segment_for(t);
    // Decayed first, so that weight decay is for one run of elements.
    place_all(/*decayed=*/true);
    for (Segment& segment : segments_) segment.decayed_end = segment.elements;
    place_all(/*decayed=*/false);
    segments_.erase(std::remove_if(segments_.begin() + 1, segments_.end(),
                                   [](const Segment& s) { return s.parameters.empty(); }),
                    segments_.end());
    for (Segment& segment : segments_) {
      std::stable_sort(segment.parameters.begin(), segment.parameters.end(),
                       [](const PlacedParameter& a, const PlacedParameter& b) {
                         return a.section != b.section ? a.section < b.section
                                                       : a.parameter < b.parameter;
                       });
    }
    return std::move(segments_);
  }

 private:
  void place_all(bool decayed) {
    for (int s = stage_.first_section; s < stage_.end_section; ++s) {
      const auto& parameters = outline_.sections[static_cast<std::size_t>(s)].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i].decays() == decayed) place({s, static_cast<int>(i)}, parameters[i]);
      }
    }
  }

  void place(const ParameterAt& at, const ParameterOutline& parameter) {
    const TieOutline* tie = tie_of(outline_, at);
    Segment& segment = segment_for(shared_tie(setup_, tie, stage_.stage));
    if (const auto same = place_of_twin(segment, tie)) {
      segment.parameters.push_back({at.section, at.parameter, *same});
      return;
    }
    const auto count = static_cast<std::size_t>(parameter.count());
    segment.parameters.push_back(
        {at.section, at.parameter, {segment.elements, segment.elements + count}});
    segment.elements += rounded_up(count, kAlignment);
  }

  Segment& segment_for(int tie) {
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [&](const Segment& segment) { return segment.tie == tie; });
    if (found != segments_.end()) return *found;
    segments_.emplace_back().tie = tie;
    return segments_.back();
  }

  static std::optional<ElementRange> place_of_twin(const Segment& segment, const TieOutline* tie) {
    if (tie == nullptr) return std::nullopt;
    for (const PlacedParameter& placed : segment.parameters) {
      for (std::size_t i = 0; i < tie->sections.size(); ++i) {
        if (tie->sections[i] == placed.section && tie->parameters[i] == placed.parameter) {
          return placed.place;
        }
      }
    }
    return std::nullopt;
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
  const bool shards = setup.zero1 && segment.tie < 0 && stage.holders > 1;
  const std::size_t unit = shards ? kAlignment * static_cast<std::size_t>(stage.holders) : 1;
  segment.elements = rounded_up(segment.elements, unit);
  segment.buckets = buckets_of(segment.elements, std::max(unit, rounded_up(bucket_elements, unit)));
  segment.owned = {{0, segment.elements}};
  if (shards) segment.owned = parts_of(segment.buckets, stage.holder, stage.holders);
  // Of a tie by its first stage in the first replica: with two copies of the weights that need not
  // be the first of the stage's holders.
  const bool counts =
      segment.tie < 0
          ? stage.holder == 0
          : setup.replica == 0 &&
                setup.ties[static_cast<std::size_t>(segment.tie)].stages.front() == stage.stage;
  segment.counted = shards || counts;
}

}  // namespace

std::vector<std::size_t> owned_offsets(const Segment& segment) {
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
