// A plan file whose stages live in slots: what simulate says of it is what check says, and the
// oracle, and the paper (tests/core/slots_plan.h).
#include "tests/core/slots_plan.h"

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "search/evaluate.h"
#include "tests/simulator/lists_by_the_rules.h"

namespace penstock {
namespace {

TEST_CASE("simulate, check, the oracle and the paper agree on a plan with slots") {
  for (const bool simplex : {false, true}) {
    const PlanFile file = slots_plan(
        simplex ? Edits{{R"("issue": "eager")", R"("issue": "eager", "host_link": "simplex")"}}
                : Edits{});
    const Replayed replayed = replay_plan_file(file);
    const testing::ActionTimes rules =
        testing::lists_by_the_rules(file.program, file.prices, file.executor);
    for (std::size_t i = 0; i < rules.end.size(); ++i) {
      CHECK(replayed.timeline.end[i] == SimTime{Duration{rules.end[i]}});
    }
    CHECK(rules.most_slots == std::vector<int>{2});
    CHECK(replayed.evaluation.step_time == Duration{simplex ? 225 : 210});
    CHECK(replayed.evaluation.step_time == check(file).replayed);
    CHECK(replayed.evaluation.ranks[0].memory == file.prediction.ranks[0].memory);
    if (!simplex) CHECK(replayed.evaluation.ranks == file.prediction.ranks);
  }
}

}  // namespace
}  // namespace penstock
