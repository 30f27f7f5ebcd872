// Ranks are lost at every place of a step, one run per place. What the survivors keep is the state
// of one and the same finished step, that of a plain loop to the bit, and no finished step is lost.
#include "runtime_bridge/emergency_checkpoint.h"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/runtime_bridge/hurt_run.h"

namespace penstock {
namespace {

using namespace penstock::testing;

const std::vector<Named> kExamples{{"gpipe", {1, 1, 2, 2}, false},
                                   {"1f1b", {2, 1, 2, 2}, true},
                                   {"zb-h1", {2, 1, 2, 2}, false},
                                   {"interleaved", {2, 2, 2, 2}, true}};

TEST_CASE("a rank that is lost before any action of a step costs no finished step") {
  for (const Named& named : kExamples) {
    CAPTURE(named.schedule);
    // Lost before its norm, the step is done again; before its update, it is finished without it.
    CHECK(lost_before_any_action(example_of(named), false) ==
          std::set<std::int64_t>{kHurtStep, kHurtStep + 1});
  }
}

TEST_CASE("a rank that is lost behind the last step, while it is written, costs none either") {
  for (const Named& named : kExamples) {
    CAPTURE(named.schedule);
    lost_at_the_end(example_of(named), false);
  }
}

// Every wait takes a run, so that these two look at the first two examples only.
constexpr std::size_t kExamplesByWait = 2;

TEST_CASE("a rank that is lost after any transfer of a step costs no finished step") {
  for (std::size_t i = 0; i < kExamplesByWait; ++i) {
    CAPTURE(kExamples[i].schedule);
    lost_after_any_wait(example_of(kExamples[i]), false);
  }
}

// The norm has ended for some and not for others, as when a rank dies in the middle of it.
TEST_CASE("what one rank has not heard of, it is told by another") {
  for (std::size_t i = 0; i < kExamplesByWait; ++i) {
    const Named& named = kExamples[i];
    CAPTURE(named.schedule);
    const Example ring = example_of(named);
    const int ranks = ring.plan.plan.devices();
    for (int deaf = 0; deaf < ranks; ++deaf) {
      const int lost = (deaf + 1) % ranks;
      CAPTURE(deaf);
      for (int wait = 0;; ++wait) {
        CAPTURE(wait);
        Accident accident;
        accident.lost = lost;
        accident.deaf = deaf;
        accident.deaf_wait = wait;
        const Kept kept = hurt_run(ring.model, ring.plan, accident);
        if (kept.most_finished == kEndStep) break;
        check_kept(ring, accident, kept);
      }
    }
  }
}

TEST_CASE(
    "a stage without a survivor leaves no checkpoint, and the rank that alone held it is named") {
  const Example ring = example_of(Named{"1f1b", {2, 1, 1, 2}, false});
  Accident accident;
  accident.lost = 1;
  accident.before_action = 3;
  const Kept kept = hurt_run(ring.model, ring.plan, accident);
  REQUIRE(kept.ends.size() == 1);
  CHECK(kept.ends.at(0).note ==
        "no emergency checkpoint: the survivors do not hold the whole model: rank 1 alone held 'w' "
        "of section 2");
  CHECK(kept.state.empty());
}

TEST_CASE("updates that do not wait for the norm: the survivors keep one step or none") {
  ExecutorModel executor;
  executor.optimizer = OptimizerGate::kPostValidation;
  const RingModel model = ring_model(4, false);
  const Example ring =
      example_of(model, ring_plan(model, plan_of("1f1b", {2, 1, 2, 2}), {}, executor));
  int none = 0, some = 0;
  for (int lost = 0; lost < 4; ++lost) {
    const auto actions =
        static_cast<int>(rank_program(ring.plan, ModelDescription{}, {}, lost).actions.size());
    for (int action = 0; action < actions; ++action) {
      Accident accident;
      accident.lost = lost;
      accident.before_action = action;
      const Kept kept = hurt_run(model, ring.plan, accident);
      REQUIRE(kept.ends.size() == 3);
      const LastStep& last = kept.ends.begin()->second.last;
      for (const auto& [rank, end] : kept.ends) {
        CHECK(end.last.why_not == last.why_not);
        CHECK(end.last.next_step == last.next_step);
      }
      if (last.why_not.empty()) {
        ++some;
        check_state(ring, kept, last.next_step);
      } else {
        ++none;
        CHECK(kept.state.empty());
      }
    }
  }
  CHECK(some > 0);
  CHECK(none > 0);
}

}  // namespace
}  // namespace penstock
