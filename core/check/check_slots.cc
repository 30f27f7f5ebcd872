// Goes through each rank's list once and keeps which stages lie in its slots, which the host has,
// and what the device has changed since. Each use of a stage that is not there, each LOAD without a
// free slot and each RESHARD that loses changed weights or gradients is a finding with its place.
#include <algorithm>
#include <array>
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

// Of stages that live in slots the host has all; of those that it only updates what it steps, and
// what comes and goes.
std::int64_t on_host(const StepPrice& step, bool in_slots) {
  const std::array<Bytes, 4> in_slot{step.parameters, step.gradients, step.optimizer_state,
                                     step.only_on_host};
  const std::array<Bytes, 3> updated{step.stored, step.loaded, step.only_on_host};
  std::int64_t sum = 0;
  if (in_slots) {
    for (const Bytes part : in_slot) sum = sum_of(sum, part.count);
  } else {
    for (const Bytes part : updated) sum = sum_of(sum, part.count);
  }
  return sum;
}

// What the host of a node keeps for its ranks.
void check_host_memory(const PlanFile& file, Findings& findings) {
  const std::int64_t there = file.cluster.host_memory.count;
  if (there == 0) return;
  std::int64_t most = 0, all = 0;  // of one rank, of a pipeline's ranks
  for (std::size_t p = 0; p < file.program.pipelines.size(); ++p) {
    const bool in_slots = file.program.pipelines[p].weight_slots > 0;
    if (!in_slots && !file.plan.offload_optimizer) continue;
    for (int r = 0; r < file.plan.pipeline; ++r) {
      std::int64_t of_rank = 0;
      for (const int s : file.plan.stages_of_rank(r)) {
        const StepPrice& step = file.prices.step[static_cast<std::size_t>(s)];
        of_rank = sum_of(of_rank, on_host(step, in_slots));
      }
      most = std::max(most, of_rank);
      if (p == 0) all = sum_of(all, of_rank);
    }
  }
  // As if the fullest rank were on every device of a node, but no more than the job has.
  std::int64_t needed =
      product_of(most, std::min(file.plan.devices(), file.cluster.devices_per_node));
  if (file.plan.offload_optimizer) {
    needed = std::min(needed, product_of(all, file.plan.devices() / file.plan.pipeline));
  }
  if (needed > there) {
    findings.add("/cluster/host_memory_bytes",
                 "the stages of a node's ranks take " + std::to_string(needed) +
                     " bytes on the host, which has " + std::to_string(there));
  }
}

// What the host updates it keeps, and whoever offloads nothing has nothing there.
void check_offload(const PlanFile& file, Findings& findings) {
  const std::string place = "/plan/offload_optimizer";
  if (file.program.has_slots()) {
    if (file.plan.offload_optimizer) findings.add(place, "its stages live in slots");
    return;
  }
  if (file.plan.offload_optimizer && file.executor.optimizer == OptimizerGate::kRolledBack) {
    findings.add(place, "the host cannot take an update back");
  }
  for (const StepPrice& step : file.prices.step) {
    const bool keeps = step.only_on_host > Bytes{};
    if (file.plan.offload_optimizer && step.optimizer_state > Bytes{}) {
      findings.add("/prices", "the optimizer's state is on the host, and on the device as well");
    }
    if (!file.plan.offload_optimizer && (keeps || step.stored > Bytes{} || step.loaded > Bytes{})) {
      findings.add("/prices", "a stage has something on the host, which updates nothing");
    }
  }
}

}  // namespace

void check_slots(const PlanFile& file, const RankLists& lists, Findings& findings) {
  check_host_memory(file, findings);
  check_offload(file, findings);
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
        } else if (is_copy(action.kind) && !file.plan.offload_optimizer) {
          findings.add(place, name_of(file.program, action) + " needs slots; its pipeline has no " +
                                  "'weight_slots'");
        }
      }
    }
  }
}

}  // namespace penstock
