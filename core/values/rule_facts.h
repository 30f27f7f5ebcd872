// What every run-time rule does to a plan, in one table: asked by whoever prices, bounds or replays
// one, so that nobody goes by the name of a schedule. A new rule is a row here.
#pragma once

#include <array>
#include <string_view>

#include "core/values/run_time_rule.h"

namespace penstock {

struct RuleFacts {
  RunTimeRule rule = RunTimeRule::kNone;
  std::string_view word;  // in files; also the name of the schedule that follows the rule
  // The last rank runs a backward right after its forward and recomputes nothing, whatever the
  // mode: it keeps the activations of that one micro-batch.
  bool last_rank_keeps = false;
  // A recompute may run before the gradient of its micro-batch has arrived.
  bool recomputes_early = false;
  // A forward goes ahead of a recompute only when its activation has arrived; before, the rank
  // waits for whichever of the two comes first.
  bool waits_for_either = false;
};

inline constexpr std::array<RuleFacts, 4> kRuleFacts{{
    {.rule = RunTimeRule::kNone, .word = "none"},
    {.rule = RunTimeRule::kVaruna, .word = "varuna", .last_rank_keeps = true},
    {.rule = RunTimeRule::kVarunaRuntime,
     .word = "varuna-runtime",
     .last_rank_keeps = true,
     .recomputes_early = true},
    {.rule = RunTimeRule::kVarunaStrict,
     .word = "varuna-strict",
     .last_rank_keeps = true,
     .waits_for_either = true},
}};

constexpr const RuleFacts& facts_of(RunTimeRule rule) {
  for (const RuleFacts& facts : kRuleFacts) {
    if (facts.rule == rule) return facts;
  }
  return kRuleFacts.front();
}

// The rule that a schedule of this name follows; kNone of any other schedule.
constexpr RunTimeRule rule_of_schedule(std::string_view name) {
  for (const RuleFacts& facts : kRuleFacts) {
    if (facts.word == name) return facts.rule;
  }
  return RunTimeRule::kNone;
}

}  // namespace penstock
