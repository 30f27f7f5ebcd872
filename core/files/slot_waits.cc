// Walks every rank's list once and keeps, per stage, whether it is in a slot, which LOAD brought it
// and who used it last.
//
// A LOAD takes the slot that was let go first, in the order of the list; those that are free at the
// start of the step come before. So which RESHARD it waits for is known without any time, the
// replay stays one pass, and a real runtime can allocate its slots once. A stage whose first action
// is not its LOAD is in a slot when the step begins: steps repeat, so it was left there.
//
// On a rank without slots every stage stays where it is. Its STORE brings gradients to the host,
// and its LOAD the weights back that were updated there meanwhile.
//
// An OPT behind the STORE that brought the stage's gradients to the host is done there: it needs no
// slot, waits for the STORE, and the next LOAD waits for it.
#include "core/files/slot_waits.h"

#include <cstdint>
#include <vector>

#include "core/values/action_rules.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNone = kWaitsForNothing;

class RankSlots {
 public:
  RankSlots(const Program& program, ActionLists& lists, std::size_t rank, int slots)
      : program_(program),
        lists_(lists),
        begin_(lists.begin[rank]),
        end_(lists.begin[rank + 1]),
        rank_(rank),
        slots_(slots),
        stages_(program.stages.size()) {}

  std::string run() {
    note_residents();
    if (slots_ > 0 && free_ < 0) {
      return "rank " + std::to_string(rank_) + " begins with " + names_of_residents() +
             " on the device, and has " + std::to_string(slots_) + " weight slots";
    }
    for (std::size_t i = begin_; i < end_; ++i) {
      const auto at = static_cast<std::uint32_t>(i);
      if (std::string problem = step(at); !problem.empty()) return problem;
    }
    return {};
  }

 private:
  struct StageState {
    bool seen = false, is_resident = false;
    std::uint32_t load = kNone, store = kNone;                    // the last ones, if any
    std::uint32_t last_compute = kNone, last_collective = kNone;  // since it was loaded
    bool is_stored = false;                                       // nothing has changed it since
    std::uint32_t update = kNone;  // on the host, of what was stored last
  };

  void note_residents() {
    free_ = slots_;
    for (std::size_t i = begin_; i < end_; ++i) {
      const Action& action = lists_.actions[i];
      const SlotUse use = rule_of(action.kind).slot;
      StageState& stage = stages_[action.stage.value];
      if (use == SlotUse::kNothing || stage.seen) continue;
      stage.seen = true;
      stage.is_resident = use != SlotUse::kTakes || slots_ == 0;
      if (stage.is_resident) --free_;
    }
  }

  std::string step(std::uint32_t at) {
    const Action& action = lists_.actions[at];
    const SlotUse use = rule_of(action.kind).slot;
    if (use == SlotUse::kNothing) return {};
    StageState& stage = stages_[action.stage.value];
    if (use == SlotUse::kTakes) return load(at, stage);
    if (rule_of(action.kind).updates && is_compute(action.kind) && stage.is_stored) {
      wait(at, stage.store);
      stage.update = at;
      return {};
    }
    if (!stage.is_resident) {
      return name(at) + " needs stage " + std::to_string(action.stage.value) +
             ", which is in no slot there; put " + std::to_string(action.stage.value) +
             "LOAD before it";
    }
    switch (use) {
      case SlotUse::kCopies:
        wait_for_users(at, stage);
        stage.store = at;
        stage.is_stored = true;
        break;
      case SlotUse::kFrees:
        if (slots_ == 0) return {};  // as FSDP lets go of what it gathered
        wait_for_users(at, stage);
        wait(at, stage.store);
        stage.is_resident = false;
        released_.push_back(at);
        break;
      default:
        use_stage(at, stage);
    }
    return {};
  }

  void use_stage(std::uint32_t at, StageState& stage) {
    const ActionKind kind = lists_.actions[at].kind;
    wait(at, stage.load);
    // What is being copied stays as it is.
    if (rule_of(kind).slot == SlotUse::kChanges) {
      wait(at, stage.store);
      stage.is_stored = false;
    }
    (is_compute(kind) ? stage.last_compute : stage.last_collective) = at;
  }

  std::string load(std::uint32_t at, StageState& stage) {
    if (slots_ == 0) return load_in_place(at, stage);
    if (stage.is_resident) {
      return name(at) + ": the stage is in a slot already; remove it, or put " +
             std::to_string(lists_.actions[at].stage.value) + "RESHARD before it";
    }
    if (free_ > 0) {
      --free_;
    } else if (taken_ < released_.size()) {
      wait(at, released_[taken_++]);
    } else {
      return name(at) + " finds no slot: " + names_of_residents() + " fill all " +
             std::to_string(slots_) + "; put the RESHARD of one of them before it";
    }
    bring(at, stage);
    stage.is_resident = true;
    return {};
  }
  std::string load_in_place(std::uint32_t at, StageState& stage) {
    if (stage.update == kNone || !stage.is_stored) {
      return name(at) + " on rank " + std::to_string(rank_) + ", which has no weight slots";
    }
    bring(at, stage);
    return {};
  }
  void bring(std::uint32_t at, StageState& stage) {
    wait(at, stage.store);  // the host must have what it brings
    wait(at, stage.update);
    stage.load = at;
    stage.last_compute = stage.last_collective = kNone;
  }

  void wait_for_users(std::uint32_t at, const StageState& stage) {
    wait(at, stage.load);
    wait(at, stage.last_compute);
    wait(at, stage.last_collective);
  }
  void wait(std::uint32_t at, std::uint32_t needs) {
    if (needs != kNone) add_wait(lists_, {at, needs});
  }

  [[nodiscard]] std::string name(std::uint32_t at) const {
    return name_of(program_, lists_.actions[at]);
  }
  [[nodiscard]] std::string names_of_residents() const {
    std::string names;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].is_resident) names += (names.empty() ? "" : ", ") + std::to_string(s);
    }
    return "stages " + names;
  }

  const Program& program_;
  ActionLists& lists_;
  std::size_t begin_, end_, rank_;
  int slots_, free_ = 0;
  std::vector<StageState> stages_;
  std::vector<std::uint32_t> released_;  // by RESHARD, in the order of the list
  std::size_t taken_ = 0;                // so many of them were taken again
};

// Without any UNSHARD and RESHARD mean what FSDP does.
bool has_copies(const ActionLists& lists, std::size_t rank) {
  for (std::size_t i = lists.begin[rank]; i < lists.begin[rank + 1]; ++i) {
    if (is_copy(lists.actions[i].kind)) return true;
  }
  return false;
}

}  // namespace

std::string set_slot_waits(const Program& program, ActionLists& lists) {
  for (const Pipeline& pipeline : program.pipelines) {
    if (pipeline.weight_slots > 0 && program.rule != RunTimeRule::kNone) {
      return "slots are taken in the order of the lists, which a run-time rule changes";
    }
    for (int r = 0; r < pipeline.ranks; ++r) {
      const auto rank = static_cast<std::size_t>(pipeline.first_rank) + static_cast<std::size_t>(r);
      if (pipeline.weight_slots == 0 && !has_copies(lists, rank)) continue;
      std::string problem = RankSlots(program, lists, rank, pipeline.weight_slots).run();
      if (!problem.empty()) return problem;
    }
  }
  return {};
}

}  // namespace penstock
