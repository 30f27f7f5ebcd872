// What every kind of action means, one row each: in words, the lane that it keeps busy, the price
// and the fixed cost that it takes, what it moves and where the other end of that is, what it waits
// for, and what it holds and lets go. Who prices, links, replays, runs or draws actions reads the
// row; only the checker of plan files (core/check) has rules of its own, since it judges those who
// use these.
//
// A new kind, or a new term of the executor, is a row or a column here and what carries it out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/values/action_kind.h"
#include "core/values/executor_model.h"
#include "core/values/stage_prices.h"

namespace penstock {

// What of a rank an action keeps busy. The actions of one compute or collective lane run one after
// the other; whether those of the wire do, and whether they keep the compute lane as well, is the
// executor's to say.
enum class Lane : std::uint8_t {
  kAtOnce,  // keeps nothing busy
  kCompute,
  kWire,
  kCollective,
  kCopyIn,   // from the host; whether both copy lanes are one is the executor's to say
  kCopyOut,  // to the host
};

// Which table of StagePrices has the price, and where in it.
enum class PriceTableOf : std::uint8_t {
  kNothing,
  kMicroBatch,      // of the stage and the micro-batch's shape
  kBoundaryBehind,  // between the stage and the next one
  kBoundaryBefore,  // between the previous stage and this one
  kStage,           // of the stage, once per step
  kAllCopies,       // likewise, of all copies of its weights together: the longest
  kTie,             // of the tied weights
  kJob,
};
struct PriceRule {
  PriceTableOf table = PriceTableOf::kNothing;
  Price ComputePrice::*of_micro_batch = nullptr;
  Price TransferPrice::*of_boundary = nullptr;
  Price StepPrice::*of_stage = nullptr;
  Bytes StepPrice::*moves = nullptr;         // of a collective; a transfer moves its boundary
  Duration ExecutorModel::*fixed = nullptr;  // the executor adds this to every execution
};

// Something that an action may wait for besides the order of its lane.
enum class NeedOf : std::uint8_t {
  kStage,      // of its own stage
  kLastStage,  // likewise, where no stage follows: the loss comes between
  kPrevious,   // of the stage before
  kNext,       // of the stage behind
  kRank,       // of its rank
};
enum class Which : std::uint8_t {
  kOfMicroBatch,
  kLast,        // of the step; W stands for B
  kLastBefore,  // likewise, of those that come before it on its rank
};
struct Need {
  ActionKind kind = ActionKind::kForward;  // I stands for B and B for I
  NeedOf of = NeedOf::kStage;
  Which which = Which::kOfMicroBatch;
};
// Alternatives, the first that there is counts.
struct Needs {
  std::array<Need, 3> any{};
  std::size_t count = 0;

  [[nodiscard]] constexpr const Need* begin() const { return any.data(); }
  [[nodiscard]] constexpr const Need* end() const { return any.data() + count; }
};

// How many it takes (+1) when it begins or lets go (-1) when it ends.
struct Holds {
  std::int8_t stash = 0, weight_stash = 0;
  std::int8_t activation_buffer = 0, gradient_buffer = 0;  // received and not yet consumed
};

// What it does with that of its stage which lives in a slot, where a rank has slots
// (core/files/slot_waits.h makes waits of it).
enum class SlotUse : std::uint8_t {
  kNothing,
  kReads,    // once it is loaded, before it is let go
  kChanges,  // likewise; what the host has is then out of date
  kTakes,    // brings it, into a slot that was let go
  kCopies,   // brings it back to the host, after all that changes it
  kFrees,    // lets go of the slot, after all that needs it
};

// Where the other end of a transfer is, seen from the stage that owns the action.
enum class OtherEnd : std::uint8_t { kNowhere, kNext, kPrevious };
struct TransferRule {
  ActionKind meets = ActionKind::kForward;  // at the other end
  OtherEnd at = OtherEnd::kNowhere;
  bool gradient = false;
};

// Who performs a collective together.
enum class GroupOf : std::uint8_t {
  kNobody,
  kHolders,  // of the stage's weights: replicas, and copies within a pipeline
  kTie,      // the stages with the tied weights
  kJob,      // all ranks
};
struct CollectiveRule {
  GroupOf group = GroupOf::kNobody;
  bool gathers = false;  // else it sums
};

struct ActionRule {
  ActionKind kind = ActionKind::kForward;
  std::string_view meaning{};
  Lane lane = Lane::kAtOnce;
  PriceRule price{};
  Needs needs{};
  Holds holds{};
  SlotUse slot = SlotUse::kNothing;
  TransferRule transfer{};
  CollectiveRule collective{};
  bool updates = false;  // brings new weights, at the very end of a step
};

namespace action_rules_detail {

constexpr PriceRule per_micro_batch(Price ComputePrice::*price) {
  PriceRule rule;
  rule.table = PriceTableOf::kMicroBatch;
  rule.of_micro_batch = price;
  rule.fixed = &ExecutorModel::per_action;
  return rule;
}
constexpr PriceRule per_boundary(PriceTableOf where, Price TransferPrice::*price) {
  PriceRule rule;
  rule.table = where;
  rule.of_boundary = price;
  rule.fixed = &ExecutorModel::per_transfer;
  return rule;
}
constexpr PriceRule per_copies(Price StepPrice::*price, Bytes StepPrice::*moves) {
  PriceRule rule;
  rule.table = PriceTableOf::kAllCopies;
  rule.of_stage = price;
  rule.moves = moves;
  return rule;
}
constexpr PriceRule of_optimizer() {
  PriceRule rule;
  rule.table = PriceTableOf::kStage;
  rule.of_stage = &StepPrice::optimizer;
  rule.fixed = &ExecutorModel::per_action;
  return rule;
}
constexpr PriceRule per_copy(Price StepPrice::*price, Bytes StepPrice::*moves) {
  PriceRule rule;
  rule.table = PriceTableOf::kStage;
  rule.of_stage = price;
  rule.moves = moves;
  return rule;
}
constexpr PriceRule of_table(PriceTableOf table) {
  PriceRule rule;
  rule.table = table;
  return rule;
}
template <class... More>
constexpr Needs first_of(More... needs) {
  return {{needs...}, sizeof...(needs)};
}

using enum ActionKind;
using enum NeedOf;

inline constexpr Needs kActivation =
    first_of(Need{kReceiveActivation, kStage}, Need{kForward, kPrevious});
inline constexpr Needs kGradient = first_of(
    Need{kForward, kLastStage}, Need{kReceiveGradient, kStage}, Need{kFusedBackward, kNext});

inline constexpr PriceTableOf kBehind = PriceTableOf::kBoundaryBehind;
inline constexpr PriceTableOf kBefore = PriceTableOf::kBoundaryBefore;

constexpr ActionRule compute(ActionKind kind, std::string_view meaning, PriceRule price,
                             Needs needs, Holds holds = {}) {
  const SlotUse slot =
      completes_gradient(kind) || kind == kOptimizer ? SlotUse::kChanges : SlotUse::kReads;
  return {kind, meaning, Lane::kCompute, price, needs, holds, slot, {}, {}, kind == kOptimizer};
}
constexpr ActionRule transfer(ActionKind kind, std::string_view meaning, TransferRule rule,
                              PriceRule price, Needs needs, Holds holds = {}) {
  return {kind, meaning, Lane::kWire, price, needs, holds, SlotUse::kNothing, rule};
}
constexpr ActionRule collective(ActionKind kind, std::string_view meaning, CollectiveRule rule,
                                PriceRule price, Needs needs) {
  const SlotUse slot = rule.group == GroupOf::kJob ? SlotUse::kNothing : SlotUse::kChanges;
  return {kind, meaning, Lane::kCollective, price, needs, {}, slot, {}, rule, rule.gathers};
}
constexpr ActionRule of_slot(ActionKind kind, std::string_view meaning, Lane lane, PriceRule price,
                             SlotUse slot) {
  return {kind, meaning, lane, price, {}, {}, slot};
}

// In the order of ActionKind.
inline constexpr std::array<ActionRule, kActionKinds> kRules = {
    compute(kForward, "forward", per_micro_batch(&ComputePrice::forward), kActivation,
            {1, 0, -1, 0}),
    compute(kInputGradient, "input gradient", per_micro_batch(&ComputePrice::input_gradient),
            kGradient, {-1, 1, 0, -1}),
    compute(kWeightGradient, "weight gradient", per_micro_batch(&ComputePrice::weight_gradient),
            first_of(Need{kInputGradient}), {0, -1, 0, 0}),
    compute(kFusedBackward, "backward", per_micro_batch(&ComputePrice::fused_backward), kGradient,
            {-1, 0, 0, -1}),
    compute(kRecompute, "recompute", per_micro_batch(&ComputePrice::recompute), kGradient),

    transfer(kSendActivation, "activation sent", {kReceiveActivation, OtherEnd::kNext, false},
             per_boundary(kBehind, &TransferPrice::activation), first_of(Need{kForward})),
    transfer(kReceiveActivation, "activation received",
             {kSendActivation, OtherEnd::kPrevious, false}, {},
             first_of(Need{kSendActivation, kPrevious}), {0, 0, 1, 0}),
    transfer(kSendGradient, "gradient sent", {kReceiveGradient, OtherEnd::kPrevious, true},
             per_boundary(kBefore, &TransferPrice::gradient), first_of(Need{kFusedBackward})),
    transfer(kReceiveGradient, "gradient received", {kSendGradient, OtherEnd::kNext, true}, {},
             first_of(Need{kSendGradient, kNext}), {0, 0, 0, 1}),

    collective(kUnshard, "parameters gathered", {GroupOf::kHolders, true},
               per_copies(&StepPrice::unshard, &StepPrice::parameters),
               first_of(Need{kOptimizer, kStage, Which::kLast})),
    of_slot(kReshard, "let go", Lane::kAtOnce, {}, SlotUse::kFrees),
    collective(kTiedReduce, "tied weights reduced", {GroupOf::kTie, false},
               of_table(PriceTableOf::kTie), first_of(Need{kWeightGradient, kStage, Which::kLast})),
    collective(kReduceGradient, "gradients reduced", {GroupOf::kHolders, false},
               per_copies(&StepPrice::reduce_gradient, &StepPrice::gradients),
               first_of(Need{kTiedReduce, kStage, Which::kLast},
                        Need{kWeightGradient, kStage, Which::kLast})),
    collective(kNorm, "gradient norm", {GroupOf::kJob, false}, of_table(PriceTableOf::kJob),
               first_of(Need{kWeightGradient, kRank, Which::kLast})),
    compute(kOptimizer, "optimizer", of_optimizer(),
            first_of(Need{kNorm, kRank, Which::kLastBefore},
                     Need{kReduceGradient, kStage, Which::kLast},
                     Need{kTiedReduce, kStage, Which::kLast})),

    of_slot(kLoad, "loaded from the host", Lane::kCopyIn,
            per_copy(&StepPrice::load, &StepPrice::loaded), SlotUse::kTakes),
    of_slot(kStore, "stored on the host", Lane::kCopyOut,
            per_copy(&StepPrice::store, &StepPrice::stored), SlotUse::kCopies),
};

// The predicates of action_kind.h are comparisons, which replays can afford; they say the same.
constexpr bool agree_with_predicates() {
  for (std::size_t k = 0; k < kRules.size(); ++k) {
    const ActionRule& rule = kRules[k];
    const ActionKind kind = rule.kind;
    if (static_cast<std::size_t>(kind) != k) return false;
    if (is_compute(kind) != (rule.lane == Lane::kCompute)) return false;
    if (is_collective(kind) != (rule.lane == Lane::kCollective)) return false;
    if (is_copy(kind) != (rule.lane == Lane::kCopyIn || rule.lane == Lane::kCopyOut)) return false;
    const bool prices_transfer = rule.price.of_boundary != nullptr;
    const bool brings = rule.holds.activation_buffer > 0 || rule.holds.gradient_buffer > 0;
    if ((is_send(kind) || is_receive(kind)) != (rule.lane == Lane::kWire)) return false;
    if (is_send(kind) != prices_transfer || is_receive(kind) != brings) return false;
    if (is_backward(kind) != (rule.holds.gradient_buffer < 0)) return false;
    const int freed = rule.holds.stash + rule.holds.weight_stash;
    if (completes_gradient(kind) != (freed < 0)) return false;
    const TransferRule& transfer = rule.transfer;
    const TransferRule& other = kRules[static_cast<std::size_t>(transfer.meets)].transfer;
    if ((rule.lane == Lane::kWire) != (transfer.at != OtherEnd::kNowhere)) return false;
    if (rule.lane == Lane::kWire &&
        (other.meets != kind || other.at == transfer.at || other.gradient != transfer.gradient)) {
      return false;
    }
    if ((rule.lane == Lane::kCollective) != (rule.collective.group != GroupOf::kNobody)) {
      return false;
    }
  }
  return true;
}
static_assert(agree_with_predicates(), "a row of kRules contradicts action_kind.h");

}  // namespace action_rules_detail

[[nodiscard]] constexpr const ActionRule& rule_of(ActionKind kind) {
  return action_rules_detail::kRules[static_cast<std::size_t>(kind)];
}
// F, I, W, B and R: once per micro-batch.
[[nodiscard]] constexpr bool is_of_micro_batch(ActionKind kind) {
  return rule_of(kind).price.table == PriceTableOf::kMicroBatch;
}
// The stage at the other end of a transfer, of whatever has a previous and a next one; kNoStage
// beyond the ends of a chain.
template <class Stage>
[[nodiscard]] constexpr auto other_end(const Stage& stage, ActionKind transfer) {
  return rule_of(transfer).transfer.at == OtherEnd::kNext ? stage.next : stage.previous;
}

}  // namespace penstock
