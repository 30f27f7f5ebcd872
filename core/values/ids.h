// Ids of different things do not mix: a StageId does not convert to a RankId, nor to an int.
#pragma once

#include <compare>
#include <cstdint>

namespace penstock {

template <class Tag, class Rep>
struct Id {
  Rep value = 0;
  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  auto operator<=>(const Id&) const = default;
};

// A section lies between two cutpoints of the model; sections are numbered along the model.
using SectionId = Id<struct SectionTag, std::int32_t>;
// A stage is a run of consecutive sections on one rank (a "chunk" when a rank holds several).
// 16 bits, because a Program stores one per action.
using StageId = Id<struct StageTag, std::uint16_t>;
// A rank of the pipelines of one Program, counted over all of its distinct pipelines.
using RankId = Id<struct RankTag, std::int32_t>;
// An entry of a Program's micro-batch table.
using MicroBatchId = Id<struct MicroBatchTag, std::uint32_t>;
// A named collective group of a Program.
using GroupId = Id<struct GroupTag, std::uint32_t>;

inline constexpr StageId kNoStage{0xFFFF};
inline constexpr MicroBatchId kNoMicroBatch{0xFFFF'FFFFU};
inline constexpr GroupId kNoGroup{0xFFFF'FFFFU};

}  // namespace penstock
