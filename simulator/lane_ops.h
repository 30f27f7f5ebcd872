// A Program prepared for lanes: the straight replay without what is the same in every lane.
// Receives are gone (they end when their sends do), collectives happen where their last member
// posts, and ends of actions live in a few slots that are used again once nobody needs them, since
// a lane for every action would not fit into the caches. For the same reason it comes in stretches.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "simulator/price_table.h"

namespace penstock {

// Slot 0 holds the start of the step.
inline constexpr std::uint32_t kStartSlot = 0;

// One stretch of the Program.
struct LaneOps {
  enum class Kind : std::uint8_t {
    kSend,  // takes its time and occupies nobody
    kCompute,
    kOverlap,
    kCollective,
    kCopy,  // as a send, and counts for its rank
    kJoin,  // the later of two slots, the second in `price`
  };
  struct Op {
    std::uint32_t waits_for = kStartSlot;  // slot; of a collective nothing, its members say
    std::uint32_t ends_in = kStartSlot;    // slot; may be one that this op waits for
    std::uint32_t price = 0;               // entry of the price table
    std::uint32_t action = 0;              // of the Program
    std::uint16_t rank = 0;
    Kind kind = Kind::kSend;
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
  std::uint32_t slots = 1;        // so far
};

class LaneOpsReader {
 public:
  LaneOpsReader(const Program& program, const PriceTable& prices, HostLink link);

  // Fills `stretch` with what comes next; false when nothing does.
  bool next(LaneOps& stretch);

  // After the last stretch. False where stored order is not one in which collectives complete
  // before what follows them: the straight replay cannot carry that out either. False as well where
  // a member of a collective waits for more than one action.
  [[nodiscard]] bool complete() const;

 private:
  // Slots of ends that somebody still waits for. The ends of collectives stay: they are few, and
  // the next collective of a rank follows them.
  class Slots {
   public:
    std::uint32_t take(std::uint32_t uses);  // for an end that so many others wait for
    std::uint32_t take_for_good();
    void use(std::uint32_t slot);
    void add_uses(std::uint32_t slot, std::uint32_t uses);
    [[nodiscard]] std::uint32_t count() const {
      return static_cast<std::uint32_t>(uses_left_.size());
    }

   private:
    std::vector<std::uint32_t> uses_left_{kWaitsForNothing};  // the start of the step stays too
    std::vector<std::uint32_t> free_;
  };
  struct Posted {
    std::uint32_t action, previous;  // previous: the collective before it on its rank
  };

  void read(std::uint32_t i, LaneOps& stretch);
  void add(std::uint32_t i, LaneOps& stretch);
  void add_second(std::uint32_t i, std::uint32_t waits_for, LaneOps& stretch);
  void count_uses();
  [[nodiscard]] bool has_more_waits(std::uint32_t i) const;
  std::uint32_t needs_of(std::uint32_t i, LaneOps& stretch);
  std::uint32_t join(std::uint32_t slot, std::uint32_t action, LaneOps& stretch);
  std::uint32_t& last_copy_of(const Action& action);
  void post(std::uint32_t i, LaneOps& stretch);
  void finish(std::vector<Posted>& posted, LaneOps& stretch);
  [[nodiscard]] bool same_collective(std::uint32_t index, const Action& action) const;
  [[nodiscard]] std::uint16_t rank_of(const Action& action) const;
  std::uint32_t slot_of(std::uint32_t action);
  std::uint32_t use(std::uint32_t action);

  const Program& program_;
  const PriceTable& prices_;
  bool one_copy_lane_;
  bool needs_one_;  // every action needs at most one other, and nothing is copied
  std::uint32_t next_ = 0;
  Slots slots_;
  // By action: how many wait for it; once it is read, where it ends.
  std::vector<std::uint32_t> uses_or_slot_;
  std::vector<std::vector<Posted>> posted_;
  std::vector<std::uint32_t> last_on_rank_;
  std::vector<bool> has_computed_;
  std::vector<std::uint32_t> last_load_, last_store_;  // by rank; of one lane the first
  bool asked_for_pending_ = false;
};

}  // namespace penstock
