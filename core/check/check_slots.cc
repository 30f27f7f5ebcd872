// Goes through each rank's list once and keeps which stages lie in its slots, which the host has,
// and what the device has changed since. Each use of a stage that is not there, each LOAD without a
// free slot and each RESHARD that loses changed weights or gradients is a finding with its place.
#include <algorithm>
#include <utility>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

// What a stage's slot holds between its LOAD and its RESHARD.
struct Held {
  bool seen = false, in_slot = false, was_in_slot = false;
  bool is_stored = false;  // the host has its gradients, and nothing has changed them since
  const Action* changed = nullptr;  // the last action that the host does not know of
};

// Follows one rank's list with a set of slots in the hand.
class SlotCheck {
 public:
  SlotCheck(const Program& program, const std::vector<Action>& list, int slots, std::string place,
            Findings& findings)
      : program_(program),
        list_(list),
        slots_(slots),
        place_(std::move(place)),
        findings_(findings),
        stages_(program.stages.size()) {}

  void run() {
    for (const Action& action : list_) {
      Held& stage = stages_[action.stage.value];
      if (stage.seen || !touches_stage(action.kind)) continue;
      stage.seen = true;
      stage.in_slot = stage.was_in_slot = action.kind != ActionKind::kLoad;
    }
    if (in_slots() > slots_) {
      findings_.add(place_, "the step begins with " + std::to_string(in_slots()) +
                                " stages on the device, which has " + std::to_string(slots_) +
                                " slots");
    }
    for (const Action& action : list_) step(action);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].in_slot == stages_[s].was_in_slot) continue;
      findings_.add(place_, "stage " + std::to_string(s) + " is in a slot at the " +
                                (stages_[s].in_slot ? "end of the step and not at its beginning"
                                                    : "beginning of the step and not at its end") +
                                "; the next step could not begin");
    }
  }

 private:
  static bool touches_stage(ActionKind kind) {
    return kind == ActionKind::kLoad || kind == ActionKind::kStore ||
           kind == ActionKind::kReshard || is_compute(kind) ||
           (is_collective(kind) && kind != ActionKind::kNorm);
  }
  [[nodiscard]] int in_slots() const {
    return static_cast<int>(std::count_if(stages_.begin(), stages_.end(),
                                          [](const Held& stage) { return stage.in_slot; }));
  }

  void step(const Action& action) {
    if (!touches_stage(action.kind)) return;
    Held& stage = stages_[action.stage.value];
    const std::string name = name_of(program_, action);
    if (action.kind == ActionKind::kLoad) {
      if (stage.in_slot) findings_.add(place_, name + ": its stage is in a slot already");
      if (!stage.in_slot && in_slots() >= slots_) {
        findings_.add(place_, name + ": all " + std::to_string(slots_) + " slots are taken");
      }
      stage.in_slot = true;
      return;
    }
    // On the host.
    if (action.kind == ActionKind::kOptimizer && stage.is_stored) return;
    if (!stage.in_slot) {
      findings_.add(place_, name + ": its stage is in no slot; a LOAD is missing before it");
      stage.in_slot = true;  // said once
    }
    if (action.kind == ActionKind::kStore) {
      stage.changed = nullptr;
      stage.is_stored = true;
    } else if (action.kind == ActionKind::kReshard) {
      if (stage.changed != nullptr) {
        findings_.add(place_, name + " loses what " + name_of(program_, *stage.changed) +
                                  " changed; a STORE is missing between them");
      }
      stage.in_slot = false;
      stage.changed = nullptr;
    } else if (changes(action.kind)) {
      stage.changed = &action;
      stage.is_stored = false;
    }
  }
  // Gradients add up on the device, and the optimizer and collectives write there.
  static bool changes(ActionKind kind) {
    return kind == ActionKind::kFusedBackward || kind == ActionKind::kWeightGradient ||
           kind == ActionKind::kOptimizer || is_collective(kind);
  }

  const Program& program_;
  const std::vector<Action>& list_;
  int slots_;
  std::string place_;
  Findings& findings_;
  std::vector<Held> stages_;
};

// What the host of a node keeps for its ranks: all of every stage, whatever is in slots besides.
void check_host_memory(const PlanFile& file, Findings& findings) {
  const std::int64_t there = file.cluster.host_memory.count;
  if (there == 0) return;
  std::int64_t most = 0;  // of one rank
  for (std::size_t p = 0; p < file.program.pipelines.size(); ++p) {
    if (file.program.pipelines[p].weight_slots == 0) continue;
    for (int r = 0; r < file.plan.pipeline; ++r) {
      std::int64_t of_rank = 0;
      for (const int s : file.plan.stages_of_rank(r)) {
        const StepPrice& step = file.prices.step[static_cast<std::size_t>(s)];
        for (const Bytes part :
             {step.parameters, step.gradients, step.optimizer_state, step.only_on_host}) {
          of_rank = sum_of(of_rank, part.count);
        }
      }
      most = std::max(most, of_rank);
    }
  }
  const std::int64_t needed =
      product_of(most, std::min(file.plan.devices(), file.cluster.devices_per_node));
  if (needed > there) {
    findings.add("/cluster/host_memory_bytes",
                 "the stages of a node's ranks take " + std::to_string(needed) +
                     " bytes on the host, which has " + std::to_string(there));
  }
}

}  // namespace

void check_slots(const PlanFile& file, const RankLists& lists, Findings& findings) {
  check_host_memory(file, findings);
  for (const Pipeline& pipeline : file.program.pipelines) {
    for (int r = pipeline.first_rank; r < pipeline.first_rank + pipeline.ranks; ++r) {
      const std::vector<Action>& list = lists[static_cast<std::size_t>(r)];
      const std::string place = place_of_rank(file.program, r);
      if (pipeline.weight_slots > 0) {
        SlotCheck(file.program, list, pipeline.weight_slots, place, findings).run();
        continue;
      }
      for (const Action& action : list) {
        if (action.kind == ActionKind::kReshard) {
          findings.add(place, name_of(file.program, action) + " has no price in this format");
        } else if (action.kind == ActionKind::kLoad || action.kind == ActionKind::kStore) {
          findings.add(place, name_of(file.program, action) + " needs slots; its pipeline has no " +
                                  "'weight_slots'");
        }
      }
    }
  }
}

}  // namespace penstock
