// The LOADs, STOREs and RESHARDs of one rank and step. They start as soon as what they need has
// ended, like the copy lanes of the simulator, each lane in the order of the list: handed over when
// the rank's thread knows that end, at the latest when something waits for the copy. Private to
// runtime_bridge/.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/values/action_rules.h"
#include "runtime_bridge/execute_step.h"

namespace penstock {

class StepCopies {
 public:
  // `has_ended`, by action of the list: those that are no copies. It outlives this.
  StepCopies(const RankProgram& program, RankWork& work, const std::vector<bool>& has_ended);

  void begin(StepRecord& record, SteadyTime now);
  // Whenever something has ended: begins the copies that need nothing else.
  void look_ahead();
  // The copies of its lane up to this one that were not begun, in order; each needs what must have
  // ended or been begun when it is handed over.
  [[nodiscard]] std::vector<int> waiting_up_to(int copy) const;
  // One whose other needs have ended, `ready` at the earliest.
  void hand_over(int copy, SteadyTime ready);
  // LOAD, STORE or RESHARD.
  [[nodiscard]] bool is_copy(int action) const;
  [[nodiscard]] bool was_begun(int action) const {
    return begun_[static_cast<std::size_t>(action)] != nullptr;
  }
  // That was begun.
  void wait_for(int copy);
  void wait_for_all();

 private:
  // In, out, and those that take no time; with a simplex link the first for both directions.
  static constexpr std::size_t kIn = 0, kOut = 1, kAtOnce = 2;

  [[nodiscard]] std::size_t lane_of(ActionKind kind) const;
  [[nodiscard]] bool is_ready(int copy) const;
  bool begin_ready(std::size_t lane);
  void begin_copy(int copy, SteadyTime ready);

  const RankProgram& program_;
  RankWork& work_;
  const std::vector<bool>& has_ended_;
  StepRecord* record_ = nullptr;
  SteadyTime step_begins_{};
  std::vector<std::unique_ptr<SlotCopy>> begun_;      // [action]
  std::array<std::vector<int>, 3> listed_, waiting_;  // by lane, in the order of the list
  std::array<const SlotCopy*, 2> last_{};             // by lane that takes time
};

}  // namespace penstock
