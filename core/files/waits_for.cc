// For every action of the lists the one action that must have ended before it, by the rules of its
// row and docs/file_formats.md, "The program". Tables by (kind, stage, micro-batch) hold where
// producers stand; only kinds that some rule needs have a table. I and B are one kind here, since a
// micro-batch has one or the other. Invariant: what an action waits for is a function of kinds and
// tables alone, never of positions on other ranks; what is missing is told with the action that
// needs it.
#include <array>
#include <cstdint>
#include <optional>

#include "core/files/order_actions.h"
#include "core/values/action_rules.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNone = kWaitsForNothing;

// I and B are one: where there is one of them there is not the other.
constexpr ActionKind canonical(ActionKind kind) {
  return kind == ActionKind::kInputGradient ? ActionKind::kFusedBackward : kind;
}
constexpr std::size_t row_of(ActionKind kind) { return static_cast<std::size_t>(kind); }

// The kinds that some rule needs of its micro-batch, each with the place of its table.
struct Tables {
  static constexpr std::size_t kNoTable = kActionKinds;
  std::array<std::size_t, kActionKinds> of{};
  std::size_t count = 0;

  constexpr Tables() {
    of.fill(kNoTable);
    for (std::size_t k = 0; k < of.size(); ++k) {
      for (const Need& need : rule_of(static_cast<ActionKind>(k)).needs) {
        std::size_t& table = of[row_of(canonical(need.kind))];
        if (need.which == Which::kOfMicroBatch && table == kNoTable) table = count++;
      }
    }
    of[row_of(ActionKind::kInputGradient)] = of[row_of(ActionKind::kFusedBackward)];
  }
};
constexpr Tables kTables;

// Where the actions that others wait for stand in the lists.
class ActionIndex {
 public:
  ActionIndex(const Program& program, const ActionLists& lists)
      : program_(program), last_of_stage_(program.stages.size(), none()) {
    tables_.resize(program.pipelines.size());
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      const Pipeline& pipeline = program.pipelines[p];
      for (auto& table : tables_[p]) {
        table.assign(static_cast<std::size_t>(pipeline.stages) * pipeline.micro_batches, kNone);
      }
    }
    for (std::size_t r = 0; r + 1 < lists.begin.size(); ++r) index_rank(lists, r);
  }

  // Of two equal actions the first; check() reports the second.
  [[nodiscard]] std::uint32_t find(ActionKind kind, StageId stage, MicroBatchId micro_batch) const {
    const Slot slot = slot_of(kind, stage, micro_batch);
    return tables_[slot.pipeline][slot.table][slot.offset];
  }
  // The last of a stage or rank; W stands for B.
  [[nodiscard]] std::uint32_t last_of(StageId stage, ActionKind kind) const {
    return last_of_stage_[stage.value][row_of(kind)];
  }
  [[nodiscard]] std::uint32_t last_of(RankId rank, ActionKind kind) const {
    return last_of_rank_[static_cast<std::size_t>(rank.value)][row_of(kind)];
  }

 private:
  using Lasts = std::array<std::uint32_t, kActionKinds>;  // by kind
  static Lasts none() {
    Lasts lasts;
    lasts.fill(kNone);
    return lasts;
  }

  struct Slot {
    std::size_t pipeline, table, offset;
  };
  [[nodiscard]] Slot slot_of(ActionKind kind, StageId stage, MicroBatchId micro_batch) const {
    const auto p = static_cast<std::size_t>(program_.stages[stage.value].pipeline);
    const Pipeline& pipeline = program_.pipelines[p];
    const auto s = static_cast<std::size_t>(stage.value - pipeline.first_stage);
    const std::size_t m = micro_batch.value - pipeline.first_micro_batch;
    return {p, kTables.of[row_of(kind)], s * pipeline.micro_batches + m};
  }

  void index_rank(const ActionLists& lists, std::size_t r) {
    Lasts& of_rank = last_of_rank_.emplace_back(none());
    for (std::size_t i = lists.begin[r]; i < lists.begin[r + 1]; ++i) {
      const Action& action = lists.actions[i];
      const auto at = static_cast<std::uint32_t>(i);
      const ActionKind kind =
          completes_gradient(action.kind) ? ActionKind::kWeightGradient : action.kind;
      last_of_stage_[action.stage.value][row_of(kind)] = of_rank[row_of(kind)] = at;
      if (kTables.of[row_of(action.kind)] == Tables::kNoTable) continue;
      const Slot slot = slot_of(action.kind, action.stage, action.micro_batch);
      std::uint32_t& first = tables_[slot.pipeline][slot.table][slot.offset];
      if (first == kNone) first = at;
    }
  }

  const Program& program_;
  std::vector<std::array<std::vector<std::uint32_t>, kTables.count>> tables_;  // [pipeline]
  std::vector<Lasts> last_of_stage_, last_of_rank_;
};

// What an action needs that no list holds.
struct Missing {
  ActionKind kind = ActionKind::kForward;
  StageId stage = kNoStage;
};

// Of what an action's rule needs the first that there is: one action besides the predecessor on the
// rank (docs/file_formats.md, "The program").
class WaitRules {
 public:
  WaitRules(const Program& program, const ActionLists& lists)
      : program_(program), index_(program, lists) {}

  // Position in the lists, or kNone; sets missing() when the last thing it could wait for, of its
  // micro-batch, is in none.
  std::uint32_t operator()(const Action& action) {
    Missing looked_for;
    is_missing_ = false;
    for (const Need& need : rule_of(action.kind).needs) {
      if (need.which != Which::kOfMicroBatch) {
        const std::uint32_t last = last_of(need, action);
        if (last != kNone) return last;
        continue;  // a step may do without
      }
      const std::optional<StageId> stage = stage_of(need, action);
      if (!stage) continue;
      const std::uint32_t found =
          *stage == kNoStage ? kNone : index_.find(need.kind, *stage, action.micro_batch);
      if (found != kNone) {
        is_missing_ = false;
        return found;
      }
      looked_for = {need.kind, *stage};
      is_missing_ = true;
      if (need.of == NeedOf::kLastStage) break;
    }
    // The first stage's F waits for nothing, but a receive always does.
    is_missing_ = is_missing_ && (looked_for.stage != kNoStage || is_receive(action.kind));
    missing_ = looked_for;
    return kNone;
  }

  // To be called for every action of the lists in their order, those of one rank after another.
  void pass(const Action& action, std::uint32_t at) {
    const RankId rank = program_.rank_of(action);
    if (rank != rank_ || at == 0) so_far_.fill(kNone);
    rank_ = rank;
    so_far_[row_of(action.kind)] = at;
  }

  // Null when the last action had what it needs.
  [[nodiscard]] const Missing* missing() const { return is_missing_ ? &missing_ : nullptr; }

 private:
  [[nodiscard]] std::uint32_t last_of(const Need& need, const Action& action) const {
    if (need.which == Which::kLastBefore) {
      return program_.rank_of(action) == rank_ ? so_far_[row_of(need.kind)] : kNone;
    }
    if (need.of != NeedOf::kRank) return index_.last_of(action.stage, need.kind);
    return index_.last_of(program_.rank_of(action), need.kind);
  }
  // kNoStage beyond the ends of the chain; no value where the need does not apply.
  [[nodiscard]] std::optional<StageId> stage_of(const Need& need, const Action& action) const {
    const Stage& stage = program_.stages[action.stage.value];
    switch (need.of) {
      case NeedOf::kPrevious:
        return stage.previous;
      case NeedOf::kNext:
        return stage.next;
      case NeedOf::kLastStage:
        return stage.next == kNoStage ? std::optional(action.stage) : std::nullopt;
      default:
        return action.stage;
    }
  }

  const Program& program_;
  ActionIndex index_;
  Missing missing_;
  bool is_missing_ = false;
  RankId rank_{-1};                                   // of the last action that was passed
  std::array<std::uint32_t, kActionKinds> so_far_{};  // by kind: the last of that rank
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
  for (std::uint32_t i = 0; i < lists.actions.size(); ++i) {
    Action& action = lists.actions[i];
    action.waits_for = waits_for(action);
    waits_for.pass(action, i);
    if (const Missing* missing = waits_for.missing()) {
      return describe_missing(program, action, *missing);
    }
  }
  return {};
}

}  // namespace penstock
