#include "manager/choose_plan.h"

#include <utility>

#include <doctest/doctest.h>

#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

JobState on_slow_machine(const JobRules& rules) {
  JobState state = first_state(rules, "secret", at({}));
  JobMachine machine;
  machine.name = "a";
  machine.gpus = 4;
  machine.slow_factor = 2.0;
  state.machines.push_back(machine);
  return state;
}

// Both plans take 2 s, and 4 s on a machine that is half as fast.
TEST_CASE("of plans that are equally fast the one on fewer GPUs is started, as listed or not") {
  JobRules rules = rules_of_test();
  for (const bool descending : {false, true}) {
    rules.pages = {{1, 2, seconds(2)}, {2, 4, seconds(2)}};
    if (descending) std::swap(rules.pages[0], rules.pages[1]);
    const auto chosen = plan_to_start(rules, on_slow_machine(rules), at(seconds(1)));
    REQUIRE(chosen.has_value());
    CHECK(chosen->page.gpus == 2);
    CHECK(chosen->ranks.size() == 2);
    CHECK(chosen->step() == seconds(4));
  }
}

// 1 s a step on ranks that are half as fast, but not on ranks that are well again.
TEST_CASE("a plan that was made for slow ranks is started while they are as slow") {
  const JobRules rules = rules_of_test();
  JobState state = on_slow_machine(rules);
  TailoredPlan made;
  made.page = {9, 2, seconds(1)};
  for (int rank = 0; rank < 2; ++rank) {
    PlacedRank& placed = made.ranks.emplace_back();
    placed.rank = placed.local_rank = rank;
    placed.machine = "a";
    made.factors.push_back(2.0);
  }
  state.tailored = made;
  const auto slow = plan_to_start(rules, state, at(seconds(1)));
  REQUIRE(slow.has_value());
  CHECK(slow->is_tailored);
  CHECK(slow->page.page == 9);
  for (const double now : {1.0, 1.5, 3.0}) {
    state.machines[0].slow_factor = now;
    const auto chosen = plan_to_start(rules, state, at(seconds(1)));
    REQUIRE(chosen.has_value());
    CHECK_FALSE(chosen->is_tailored);
  }
}

// 3 s and 2 s: the larger plan is faster by more than it takes.
TEST_CASE("a plan for more GPUs than the slow machine has is not started on it") {
  JobRules rules = rules_of_test();
  rules.pages = {{1, 2, seconds(3)}, {2, 4, seconds(2)}, {3, 8, seconds(1)}};
  const auto chosen = plan_to_start(rules, on_slow_machine(rules), at(seconds(1)));
  REQUIRE(chosen.has_value());
  CHECK(chosen->page.gpus == 4);
  CHECK(chosen->slow_factor == 2.0);
}

}  // namespace
}  // namespace penstock::test
