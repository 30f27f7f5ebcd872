#include <array>
#include <cstdint>
#include <optional>

#include "core/files/order_actions.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNone = kWaitsForNothing;

// Where the actions that others wait for stand in the lists.
class ActionIndex {
 public:
  ActionIndex(const Program& program, const ActionLists& lists)
      : program_(program), by_stage_(program.stages.size()) {
    tables_.resize(program.pipelines.size());
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      const Pipeline& pipeline = program.pipelines[p];
      for (auto& table : tables_[p]) {
        table.assign(static_cast<std::size_t>(pipeline.stages) * pipeline.micro_batches, kNone);
      }
    }
    for (std::size_t r = 0; r + 1 < lists.begin.size(); ++r) index_rank(lists, r);
  }

  // I and B count as one kind. Of two equal actions the first; check() reports the second.
  [[nodiscard]] std::uint32_t find(ActionKind kind, StageId stage, MicroBatchId micro_batch) const {
    const Slot slot = slot_of(kind, stage, micro_batch);
    return tables_[slot.pipeline][slot.table][slot.offset];
  }

  struct OfStage {
    std::uint32_t last_gradient = kNone;  // last W or B
    std::uint32_t tied_reduce = kNone;    // the last one
    std::uint32_t reduce_gradient = kNone;
    std::uint32_t optimizer = kNone;
  };
  [[nodiscard]] const OfStage& of_stage(StageId stage) const { return by_stage_[stage.value]; }

  struct OfRank {
    std::uint32_t last_gradient = kNone;
    std::uint32_t norm = kNone;
  };
  [[nodiscard]] const OfRank& of_rank(RankId rank) const {
    return by_rank_[static_cast<std::size_t>(rank.value)];
  }

 private:
  static constexpr std::size_t kTables = 6;
  static std::size_t table_of(ActionKind kind) {
    switch (kind) {
      case ActionKind::kForward:
        return 0;
      case ActionKind::kInputGradient:
      case ActionKind::kFusedBackward:
        return 1;
      case ActionKind::kSendActivation:
        return 2;
      case ActionKind::kReceiveActivation:
        return 3;
      case ActionKind::kSendGradient:
        return 4;
      case ActionKind::kReceiveGradient:
        return 5;
      default:
        return kTables;
    }
  }

  struct Slot {
    std::size_t pipeline, table, offset;
  };
  [[nodiscard]] Slot slot_of(ActionKind kind, StageId stage, MicroBatchId micro_batch) const {
    const auto p = static_cast<std::size_t>(program_.stages[stage.value].pipeline);
    const Pipeline& pipeline = program_.pipelines[p];
    const auto s = static_cast<std::size_t>(stage.value - pipeline.first_stage);
    const std::size_t m = micro_batch.value - pipeline.first_micro_batch;
    return {p, table_of(kind), s * pipeline.micro_batches + m};
  }

  void index_rank(const ActionLists& lists, std::size_t r) {
    OfRank& of_rank = by_rank_.emplace_back();
    for (std::size_t i = lists.begin[r]; i < lists.begin[r + 1]; ++i) {
      const Action& action = lists.actions[i];
      const auto at = static_cast<std::uint32_t>(i);
      OfStage& of_stage = by_stage_[action.stage.value];
      switch (action.kind) {
        case ActionKind::kTiedReduce:
          of_stage.tied_reduce = at;
          break;
        case ActionKind::kReduceGradient:
          of_stage.reduce_gradient = at;
          break;
        case ActionKind::kOptimizer:
          of_stage.optimizer = at;
          break;
        case ActionKind::kNorm:
          of_rank.norm = at;
          break;
        case ActionKind::kWeightGradient:
        case ActionKind::kFusedBackward:
          of_stage.last_gradient = of_rank.last_gradient = at;
          break;
        default:
          break;
      }
      if (table_of(action.kind) == kTables) continue;
      const Slot slot = slot_of(action.kind, action.stage, action.micro_batch);
      std::uint32_t& first = tables_[slot.pipeline][slot.table][slot.offset];
      if (first == kNone) first = at;
    }
  }

  const Program& program_;
  std::vector<std::array<std::vector<std::uint32_t>, kTables>> tables_;  // [pipeline]
  std::vector<OfStage> by_stage_;
  std::vector<OfRank> by_rank_;
};

// What an action needs that no list holds.
struct Missing {
  ActionKind kind;
  StageId stage;
};

// The rules of docs/file_formats.md, "The program": one action besides the predecessor on
// the rank.
class WaitRules {
 public:
  WaitRules(const Program& program, const ActionLists& lists)
      : program_(program), index_(program, lists) {}

  // Position in the lists, or kNone; sets missing() when it is in none.
  std::uint32_t operator()(const Action& action) {
    const Stage& stage = program_.stages[action.stage.value];
    switch (action.kind) {
      case ActionKind::kForward:
        return activation(action, stage);
      case ActionKind::kInputGradient:
      case ActionKind::kFusedBackward:
      case ActionKind::kRecompute:
        return gradient(action, stage);
      case ActionKind::kWeightGradient:
        return required(ActionKind::kInputGradient, action.stage, action);
      case ActionKind::kSendActivation:
        return required(ActionKind::kForward, action.stage, action);
      case ActionKind::kSendGradient:
        return required(ActionKind::kFusedBackward, action.stage, action);
      case ActionKind::kReceiveActivation:
        return required(ActionKind::kSendActivation, stage.previous, action);
      case ActionKind::kReceiveGradient:
        return required(ActionKind::kSendGradient, stage.next, action);
      default:
        return end_of_step(action, stage);
    }
  }

  [[nodiscard]] const std::optional<Missing>& missing() const { return missing_; }

 private:
  std::uint32_t required(ActionKind kind, StageId stage, const Action& action) {
    const std::uint32_t found =
        stage == kNoStage ? kNone : index_.find(kind, stage, action.micro_batch);
    if (found == kNone) missing_ = Missing{kind, stage};
    return found;
  }

  std::uint32_t activation(const Action& action, const Stage& stage) {
    if (stage.previous == kNoStage) return kNone;
    const std::uint32_t received =
        index_.find(ActionKind::kReceiveActivation, action.stage, action.micro_batch);
    return received != kNone ? received : required(ActionKind::kForward, stage.previous, action);
  }

  std::uint32_t gradient(const Action& action, const Stage& stage) {
    if (stage.next == kNoStage) return required(ActionKind::kForward, action.stage, action);
    const std::uint32_t received =
        index_.find(ActionKind::kReceiveGradient, action.stage, action.micro_batch);
    return received != kNone ? received : required(ActionKind::kFusedBackward, stage.next, action);
  }

  [[nodiscard]] std::uint32_t end_of_step(const Action& action, const Stage& stage) const {
    const ActionIndex::OfStage& own = index_.of_stage(action.stage);
    switch (action.kind) {
      case ActionKind::kTiedReduce:
        return own.last_gradient;
      case ActionKind::kReduceGradient:
        return own.tied_reduce != kNone ? own.tied_reduce : own.last_gradient;
      case ActionKind::kNorm:
        return index_.of_rank(stage.rank).last_gradient;
      case ActionKind::kOptimizer: {
        const std::uint32_t norm = index_.of_rank(stage.rank).norm;
        if (norm != kNone) return norm;
        return own.reduce_gradient != kNone ? own.reduce_gradient : own.tied_reduce;
      }
      case ActionKind::kUnshard:
        return own.optimizer;
      default:
        return kNone;
    }
  }

  const Program& program_;
  ActionIndex index_;
  std::optional<Missing> missing_;
};

std::string describe_missing(const Program& program, const Action& action, const Missing& missing) {
  const std::string waiting = name_of(program, action);
  if (missing.stage == kNoStage) {
    return waiting + " receives, but there is no stage it could come from";
  }
  Action needed = action;
  needed.kind = missing.kind;
  needed.stage = missing.stage;
  std::string name = name_of(program, needed);
  if (missing.kind == ActionKind::kFusedBackward) {  // stands for I as well
    needed.kind = ActionKind::kInputGradient;
    name += " or " + name_of(program, needed);
  }
  return waiting + " waits for " + name + ", which no list holds";
}

}  // namespace

std::string set_waits_for(const Program& program, ActionLists& lists) {
  WaitRules waits_for(program, lists);
  for (Action& action : lists.actions) {
    action.waits_for = waits_for(action);
    if (waits_for.missing()) return describe_missing(program, action, *waits_for.missing());
  }
  return {};
}

}  // namespace penstock
