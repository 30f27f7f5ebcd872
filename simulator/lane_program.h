// A Program prepared for lanes: the straight replay without what is the same in every lane.
// Receives are gone (they end when their sends do), collectives happen where their last member
// posts, and ends of actions live in a few slots that are used again once nobody needs them, since
// a lane for every action would not fit into the caches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/program.h"
#include "simulator/price_table.h"

namespace penstock {

// Slot 0 holds the start of the step.
inline constexpr std::uint32_t kStartSlot = 0;

struct LaneProgram {
  enum class OpKind : std::uint8_t { kSend, kCompute, kOverlap, kCollective };
  struct Op {
    std::uint32_t waits_for = kStartSlot;  // slot; of a collective nothing, its members say
    std::uint32_t ends_in = kStartSlot;    // slot
    std::uint32_t price = 0;               // entry of the price table
    std::uint32_t action = 0;              // of the Program
    std::uint16_t rank = 0;
    OpKind kind = OpKind::kSend;
    bool first_of_rank = false;  // no compute of the rank comes before
  };
  // The second member of a kOverlap, and what it gains.
  struct Overlap {
    std::uint32_t waits_for = kStartSlot;
    std::uint32_t price = 0, gain = 0;
    std::uint32_t action = 0;
  };
  // One member of a collective; `previous`: the end of the collective before it on its rank.
  struct Member {
    std::uint32_t waits_for = kStartSlot, previous = kStartSlot;
    std::uint16_t rank = 0;
    bool last = false;  // of its collective
  };

  std::vector<Op> ops;
  std::vector<Overlap> overlaps;  // in the order of their ops
  std::vector<Member> members;    // likewise
  std::uint32_t slots = 1;
  int ranks = 0;
};

// Nothing where stored order is not one in which collectives complete before what follows them: the
// straight replay cannot carry that out either.
std::optional<LaneProgram> lane_program(const Program& program, const PriceTable& prices);

}  // namespace penstock
