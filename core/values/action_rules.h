// What every kind of action means, one row each: the lane that it keeps busy, the price and the
// fixed cost that it takes, what it moves, what it waits for, and what it holds and lets go. Who
// prices, links, replays or draws actions reads the row; only the checker of plan files
// (core/check) has rules of its own, since it judges those who use these.
//
// A new kind, or a new term of the executor, is a row or a column here and what carries it out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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
  kNeeds,   // reads or changes it: once it is loaded, before it is let go
  kTakes,   // brings it, into a slot that was let go
  kCopies,  // brings it back to the host, after all that changes it
  kFrees,   // lets go of the slot, after all that needs it
};

struct ActionRule {
  ActionKind kind = ActionKind::kForward;
  Lane lane = Lane::kAtOnce;
  PriceRule price{};
  Needs needs{};
  Holds holds{};
  SlotUse slot = SlotUse::kNothing;
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

// Compute and collectives need their stage on the device; copies have rows of their own.
constexpr ActionRule row(ActionKind kind, Lane lane, PriceRule price, Needs needs,
                         Holds holds = {}) {
  const bool needs_stage = kind != kNorm && (lane == Lane::kCompute || lane == Lane::kCollective);
  return {kind, lane, price, needs, holds, needs_stage ? SlotUse::kNeeds : SlotUse::kNothing};
}
constexpr ActionRule of_slot(ActionKind kind, Lane lane, PriceRule price, SlotUse slot) {
  return {kind, lane, price, {}, {}, slot};
}

// In the order of ActionKind.
inline constexpr std::array<ActionRule, kActionKinds> kRules = {
    row(kForward, Lane::kCompute, per_micro_batch(&ComputePrice::forward), kActivation,
        {1, 0, -1, 0}),
    row(kInputGradient, Lane::kCompute, per_micro_batch(&ComputePrice::input_gradient), kGradient,
        {-1, 1, 0, -1}),
    row(kWeightGradient, Lane::kCompute, per_micro_batch(&ComputePrice::weight_gradient),
        first_of(Need{kInputGradient}), {0, -1, 0, 0}),
    row(kFusedBackward, Lane::kCompute, per_micro_batch(&ComputePrice::fused_backward), kGradient,
        {-1, 0, 0, -1}),
    row(kRecompute, Lane::kCompute, per_micro_batch(&ComputePrice::recompute), kGradient),

    row(kSendActivation, Lane::kWire, per_boundary(kBehind, &TransferPrice::activation),
        first_of(Need{kForward})),
    row(kReceiveActivation, Lane::kWire, {}, first_of(Need{kSendActivation, kPrevious}),
        {0, 0, 1, 0}),
    row(kSendGradient, Lane::kWire, per_boundary(kBefore, &TransferPrice::gradient),
        first_of(Need{kFusedBackward})),
    row(kReceiveGradient, Lane::kWire, {}, first_of(Need{kSendGradient, kNext}), {0, 0, 0, 1}),

    row(kUnshard, Lane::kCollective, per_copies(&StepPrice::unshard, &StepPrice::parameters),
        first_of(Need{kOptimizer, kStage, Which::kLast})),
    of_slot(kReshard, Lane::kAtOnce, {}, SlotUse::kFrees),
    row(kTiedReduce, Lane::kCollective, of_table(PriceTableOf::kTie),
        first_of(Need{kWeightGradient, kStage, Which::kLast})),
    row(kReduceGradient, Lane::kCollective,
        per_copies(&StepPrice::reduce_gradient, &StepPrice::gradients),
        first_of(Need{kTiedReduce, kStage, Which::kLast},
                 Need{kWeightGradient, kStage, Which::kLast})),
    row(kNorm, Lane::kCollective, of_table(PriceTableOf::kJob),
        first_of(Need{kWeightGradient, kRank, Which::kLast})),
    row(kOptimizer, Lane::kCompute, of_optimizer(),
        first_of(Need{kNorm, kRank, Which::kLastBefore},
                 Need{kReduceGradient, kStage, Which::kLast},
                 Need{kTiedReduce, kStage, Which::kLast})),

    of_slot(kLoad, Lane::kCopyIn, per_copy(&StepPrice::load, &StepPrice::loaded), SlotUse::kTakes),
    of_slot(kStore, Lane::kCopyOut, per_copy(&StepPrice::store, &StepPrice::stored),
            SlotUse::kCopies),
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
  }
  return true;
}
static_assert(agree_with_predicates(), "a row of kRules contradicts action_kind.h");

}  // namespace action_rules_detail

[[nodiscard]] constexpr const ActionRule& rule_of(ActionKind kind) {
  return action_rules_detail::kRules[static_cast<std::size_t>(kind)];
}

}  // namespace penstock
