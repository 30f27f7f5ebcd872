// Counts every action of every list, with its first and last position, and then asks rule by rule
// whether what a training step needs is there as often as it must be and in an order that can run:
// of every micro-batch on every stage one F and one B, or one I and one W; a recompute where the
// mode asks for one; a send for every receive; reductions and updates behind the gradients they are
// for. Positions are compared only within a list; whether lists wait for each other is found by
// check_replay(). The rules are written down from docs/file_formats.md, not taken from lowering.
#include <algorithm>
#include <map>
#include <set>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

// How often an action occurs, and where on its rank's list the first and the last one stand.
struct Occurrence {
  int times = 0;
  std::size_t first = 0, last = 0;
};

class ListCheck {
 public:
  ListCheck(const PlanFile& file, const RankLists& lists, Findings& findings)
      : file_(file), program_(file.program), lists_(lists), findings_(findings) {
    for (const std::vector<Action>& list : lists) {
      for (std::size_t at = 0; at < list.size(); ++at) count(list[at], at);
    }
  }

  void run() {
    for (std::size_t p = 0; p < program_.pipelines.size(); ++p) {
      const Pipeline& pipeline = program_.pipelines[p];
      for (int s = pipeline.first_stage; s < pipeline.first_stage + pipeline.stages; ++s) {
        const StageId stage{static_cast<std::uint16_t>(s)};
        const auto [begin, end] = micro_batches_of(program_, stage);
        for (std::uint32_t m = begin; m < end; ++m) {
          compute(stage, MicroBatchId{m});
          transfers(stage, MicroBatchId{m});
        }
        end_of_step(stage, s - pipeline.first_stage);
      }
    }
    for (std::size_t r = 0; r < lists_.size(); ++r) norm(r);
    groups();
  }

 private:
  void count(const Action& action, std::size_t at) {
    Occurrence& found = found_[key_of(action.kind, action.stage, action.micro_batch)];
    if (found.times++ == 0) found.first = at;
    found.last = at;
  }

  [[nodiscard]] Occurrence find(ActionKind kind, StageId stage,
                                MicroBatchId micro_batch = kNoMicroBatch) const {
    const auto found = found_.find(key_of(kind, stage, micro_batch));
    return found == found_.end() ? Occurrence{} : found->second;
  }

  [[nodiscard]] std::string name(ActionKind kind, StageId stage, MicroBatchId micro_batch) const {
    Action action;
    action.kind = kind;
    action.stage = stage;
    action.micro_batch = micro_batch;
    return name_of(program_, action);
  }
  [[nodiscard]] std::string place(StageId stage) const {
    return place_of_rank(program_, program_.stages[stage.value].rank.value);
  }

  Occurrence require(int times, ActionKind kind, StageId stage,
                     MicroBatchId micro_batch = kNoMicroBatch) {
    const Occurrence found = find(kind, stage, micro_batch);
    if (found.times != times) {
      findings_.add(place(stage), name(kind, stage, micro_batch) + " must occur " +
                                      std::to_string(times) + " times, found " +
                                      std::to_string(found.times));
    }
    return found;
  }

  // `before` stands in front of `after` wherever both are there.
  void require_order(ActionKind before, ActionKind after, StageId stage,
                     MicroBatchId micro_batch = kNoMicroBatch) {
    const Occurrence first = find(before, stage, micro_batch);
    const Occurrence second = find(after, stage, micro_batch);
    if (first.times == 0 || second.times == 0 || first.last < second.first) return;
    findings_.add(place(stage), name(before, stage, micro_batch) + " must come before " +
                                    name(after, stage, micro_batch));
  }

  // One F, then either one B or one I and one W.
  void compute(StageId stage, MicroBatchId m) {
    require(1, ActionKind::kForward, stage, m);
    const int b = find(ActionKind::kFusedBackward, stage, m).times;
    const int i = find(ActionKind::kInputGradient, stage, m).times;
    const int w = find(ActionKind::kWeightGradient, stage, m).times;
    const bool fused = b == 1 && i == 0 && w == 0, split = b == 0 && i == 1 && w == 1;
    if (!fused && !split) {
      findings_.add(place(stage), "the backward of " + name(ActionKind::kForward, stage, m) +
                                      " must be one B, or one I and one W, found " +
                                      std::to_string(b) + " B, " + std::to_string(i) + " I, " +
                                      std::to_string(w) + " W");
    }
    require_order(ActionKind::kForward, ActionKind::kFusedBackward, stage, m);
    require_order(ActionKind::kForward, ActionKind::kInputGradient, stage, m);
    require_order(ActionKind::kInputGradient, ActionKind::kWeightGradient, stage, m);
    recompute(stage, m);
  }

  void recompute(StageId stage, MicroBatchId m) {
    if (program_.rule != RunTimeRule::kNone) {  // Varuna's: all but the last stage recompute
      require(has_next(program_, stage) ? 1 : 0, ActionKind::kRecompute, stage, m);
      require_order(ActionKind::kForward, ActionKind::kRecompute, stage, m);
      require_order(ActionKind::kRecompute, ActionKind::kFusedBackward, stage, m);
      return;
    }
    const int stage_in_pipeline = index_in_pipeline(program_, stage);
    const int shape = program_.micro_batches[m.value].shape;
    const bool takes_time =
        file_.prices.compute_of(stage_in_pipeline, shape).recompute.duration > Duration{};
    const int found = find(ActionKind::kRecompute, stage, m).times;
    // A mode may leave single stages without anything to recompute.
    if (file_.plan.recompute == "none" || takes_time || found > 1) {
      require(file_.plan.recompute == "none" ? 0 : 1, ActionKind::kRecompute, stage, m);
    }
    require_order(ActionKind::kForward, ActionKind::kRecompute, stage, m);
    require_order(ActionKind::kRecompute, ActionKind::kFusedBackward, stage, m);
    require_order(ActionKind::kRecompute, ActionKind::kInputGradient, stage, m);
  }

  // What this stage receives, and that the other side sends it; nothing between stages of a rank.
  void transfers(StageId stage, MicroBatchId m) {
    const bool first = !has_previous(program_, stage), last = !has_next(program_, stage);
    const int in = first || on_one_rank(program_, stage, previous_of(stage)) ? 0 : 1;
    const int out = last || on_one_rank(program_, stage, next_of(stage)) ? 0 : 1;
    require(in, ActionKind::kReceiveActivation, stage, m);
    require(in, ActionKind::kSendGradient, stage, m);
    require(out, ActionKind::kSendActivation, stage, m);
    require(out, ActionKind::kReceiveGradient, stage, m);
    require_order(ActionKind::kReceiveActivation, ActionKind::kForward, stage, m);
    require_order(ActionKind::kForward, ActionKind::kSendActivation, stage, m);
    for (const ActionKind backward : {ActionKind::kFusedBackward, ActionKind::kInputGradient}) {
      require_order(ActionKind::kReceiveGradient, backward, stage, m);
      require_order(backward, ActionKind::kSendGradient, stage, m);
    }
  }

  void end_of_step(StageId stage, int index) {
    // A stage without a pipeline that shards gradients reduces them inside its backwards, and if it
    // shards weights too gathers them inside forwards and backwards.
    const Plan& plan = file_.plan;
    const bool several = plan.weight_copies() > 1;
    const bool alone = plan.pipeline == 1 && plan.zero1 && several && plan.shard_group != 1;
    const bool reduces_inside = alone && plan.sharding != Sharding::kState;
    const bool gathers_inside = reduces_inside && plan.sharding != Sharding::kGradients;
    // When the check fails: the update, its way back, and the update again.
    require(rolls_back() ? 3 : 1, ActionKind::kOptimizer, stage);
    if (several) require(reduces_inside ? 0 : 1, ActionKind::kReduceGradient, stage);
    if (several || !plan.zero1) {
      require(plan.zero1 && !gathers_inside ? 1 : 0, ActionKind::kUnshard, stage);
    }
    int ties = 0;
    for (const PlanTie& tie : file_.ties) {
      for (const int tied : tie.stages) ties += tied == index ? 1 : 0;
    }
    require(ties, ActionKind::kTiedReduce, stage);
    const std::size_t last = last_gradient(stage);
    for (const ActionKind reduction : {ActionKind::kTiedReduce, ActionKind::kReduceGradient}) {
      const Occurrence found = find(reduction, stage);
      if (found.times > 0 && found.first < last) {
        findings_.add(place(stage), name(reduction, stage, kNoMicroBatch) +
                                        " must come after the last gradient of its stage");
      }
      require_order(reduction, ActionKind::kOptimizer, stage);
    }
    require_order(ActionKind::kTiedReduce, ActionKind::kReduceGradient, stage);
    require_order(ActionKind::kOptimizer, ActionKind::kUnshard, stage);
    if (plan.offload_optimizer) update_on_host(stage, last);
  }

  // Complete gradients go to the host, are stepped there, and the weights come back.
  void update_on_host(StageId stage, std::size_t last_gradient) {
    const Occurrence store = require(1, ActionKind::kStore, stage);
    require(1, ActionKind::kLoad, stage);
    if (store.times > 0 && store.first < last_gradient) {
      findings_.add(place(stage), name(ActionKind::kStore, stage, kNoMicroBatch) +
                                      " must come after the last gradient of its stage");
    }
    require_order(ActionKind::kTiedReduce, ActionKind::kStore, stage);
    require_order(ActionKind::kReduceGradient, ActionKind::kStore, stage);
    require_order(ActionKind::kStore, ActionKind::kOptimizer, stage);
    require_order(ActionKind::kOptimizer, ActionKind::kLoad, stage);
    require_order(ActionKind::kLoad, ActionKind::kUnshard, stage);
  }

  // Position after which the gradients of a stage are complete.
  [[nodiscard]] std::size_t last_gradient(StageId stage) const {
    std::size_t last = 0;
    const auto [begin, end] = micro_batches_of(program_, stage);
    for (std::uint32_t m = begin; m < end; ++m) {
      for (const ActionKind kind : {ActionKind::kFusedBackward, ActionKind::kWeightGradient}) {
        last = std::max(last, find(kind, stage, MicroBatchId{m}).last);
      }
    }
    return last;
  }

  [[nodiscard]] bool rolls_back() const {
    return file_.executor.optimizer == OptimizerGate::kRolledBack;
  }

  // With a global barrier every rank has one NORM between its gradients and its optimizer steps;
  // when a check fails, behind the first update of all its stages.
  void norm(std::size_t rank) {
    const bool barrier = file_.executor.optimizer != OptimizerGate::kPostValidation;
    const std::string place = place_of_rank(program_, static_cast<int>(rank));
    int norms = 0, optimizers = 0, norms_after = 0;
    for (const Action& action : lists_[rank]) {
      if (action.kind == ActionKind::kNorm) {
        ++norms;
        norms_after = optimizers;
      }
      if (action.kind == ActionKind::kOptimizer) ++optimizers;
      const bool gradients = action.kind <= ActionKind::kRecompute ||
                             action.kind == ActionKind::kReduceGradient ||
                             action.kind == ActionKind::kTiedReduce;
      if (gradients && norms > 0) {
        findings_.add(place, name_of(program_, action) + " must come before NORM");
      }
    }
    if (norms > 0 && !rolls_back() && norms_after > 0) {
      findings_.add(place, "NORM must come before every OPT");
    }
    if (norms > 0 && rolls_back() && 3 * norms_after != optimizers) {
      findings_.add(place, "NORM must come between the first and the second OPT of every stage");
    }
    if (norms != (barrier ? 1 : 0)) {
      findings_.add(place, "NORM must occur " + std::to_string(barrier ? 1 : 0) + " times, found " +
                               std::to_string(norms));
    }
  }

  // All members of a group take part, each stage once.
  void groups() {
    std::map<std::pair<GroupId, ActionKind>, std::multiset<StageId>> stages;
    for (const Action& action : program_.actions) {
      if (is_collective(action.kind)) stages[{action.group, action.kind}].insert(action.stage);
    }
    for (const auto& [key, members] : stages) {
      const Group& group = program_.groups[key.first.value];
      const std::string of_group = "'" + group.name + "' of " + std::string(name_of(key.second));
      const std::set<StageId> distinct(members.begin(), members.end());
      if (members.size() != group.members || distinct.size() != members.size()) {
        findings_.add("group " + of_group, "expected " + std::to_string(group.members) +
                                               " members, found " + std::to_string(members.size()) +
                                               " on " + std::to_string(distinct.size()) +
                                               " stages");
      }
      const std::string problem = wrong_members(key.second, group, distinct);
      if (!problem.empty()) findings_.add("group " + of_group, problem);
    }
  }

  // Gradients of a stage are reduced over the pipelines and their copies of the weights, tied ones
  // over the stages of the tie, and the norm over every rank.
  [[nodiscard]] std::string wrong_members(ActionKind kind, const Group& group,
                                          const std::set<StageId>& stages) const {
    if (kind == ActionKind::kNorm) {
      std::set<RankId> ranks;
      for (const StageId stage : stages) ranks.insert(program_.stages[stage.value].rank);
      return ranks.size() == lists_.size() ? "" : "it does not span all ranks";
    }
    if (kind != ActionKind::kTiedReduce) {
      std::set<int> weights;
      for (const StageId stage : stages) weights.insert(index_in_copy(program_, stage));
      const auto holders =
          program_.pipelines.size() * static_cast<std::size_t>(file_.plan.copies());
      const bool complete = weights.size() == 1 && stages.size() == holders;
      return complete ? "" : "it does not join one stage of all pipelines";
    }
    std::set<int> indices;
    for (const StageId stage : stages) indices.insert(index_in_pipeline(program_, stage));
    for (const PlanTie& tie : file_.ties) {
      if (group.name != "tied." + tie.name) continue;
      const bool same = indices == std::set<int>(tie.stages.begin(), tie.stages.end());
      return same ? "" : "it does not join the stages of the tie";
    }
    return "there is no tie of this name";
  }

  const PlanFile& file_;
  const Program& program_;
  const RankLists& lists_;
  Findings& findings_;
  ByAction<Occurrence> found_;
};

}  // namespace

void check_lists(const PlanFile& file, const RankLists& lists, Findings& findings) {
  ListCheck(file, lists, findings).run();
}

}  // namespace penstock
