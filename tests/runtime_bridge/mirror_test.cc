// With copies in another rank's memory a rank may be lost that alone held a stage, or that was in
// the middle of updates that it could not have ended alone: at every place of a step, one run per
// place, as in emergency_checkpoint_test.cc.
#include "runtime_bridge/mirror.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/runtime_bridge/hurt_run.h"

namespace penstock {
namespace {

using namespace penstock::testing;

// Two stages that nobody else has; four of them; divided optimizer state.
const std::vector<Named> kExamples{{"1f1b", {2, 1, 1, 3}, true, false},
                                   {"gpipe", {4, 1, 1, 2}, false, false},
                                   {"1f1b", {2, 1, 2, 2}, true, true}};

TEST_CASE("the copy of a rank is half the job away, and every rank keeps one") {
  for (const int ranks : {2, 3, 4, 7, 16}) {
    CAPTURE(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(keeper_of(rank, ranks) != rank);
      CHECK(kept_by(keeper_of(rank, ranks), ranks) == rank);
    }
  }
  CHECK(keeper_of(3, 16) == 11);
  CHECK(keeper_of(11, 16) == 3);
}

TEST_CASE("with copies a rank that is lost before any action of a step costs no finished step") {
  for (const Named& named : kExamples) {
    CAPTURE(named.schedule);
    lost_before_any_action(example_of(named), true);
  }
}

// Those in which copies travel are among them.
TEST_CASE("with copies a rank that is lost after any transfer of a step costs no finished step") {
  for (const Named& named : kExamples) {
    CAPTURE(named.schedule);
    lost_after_any_wait(example_of(named), true);
  }
}

// The rank is killed after the end was agreed on, with its part of the checkpoint not yet on the
// disk: all steps are finished, and none is done again.
TEST_CASE("with copies a rank that is lost behind the last step costs no finished step") {
  for (const Named& named : kExamples) {
    CAPTURE(named.schedule);
    lost_at_the_end(example_of(named), true);
  }
}

StepStanding standing_of(std::int64_t mirrored) {
  StepStanding standing;
  standing.step = mirrored;
  standing.mirrored = mirrored;
  return standing;
}

TEST_CASE("the newest copy that all survivors have is kept, and who kept what was lost is named") {
  // Rank 2 was lost while 7 was being copied: rank 0, which keeps its copy, has 6 and 7.
  const LastStep last =
      last_mirrored_step({{0, standing_of(7)}, {1, standing_of(6)}, {3, standing_of(7)}}, 4);
  CHECK(last.why_not == "");
  CHECK(last.next_step == 6);
  CHECK(last.mirrored);
  CHECK(last.ranks == std::vector<int>{0, 1, 3});
  CHECK(last_mirrored_step({{1, standing_of(6)}, {3, standing_of(6)}}, 4).why_not ==
        "rank 0 is lost together with rank 2, which kept its copy");
  CHECK(last_mirrored_step({{0, standing_of(kNotMirrored)}, {1, standing_of(6)}}, 2).why_not ==
        "nothing is mirrored");
  CHECK(last_mirrored_step({{0, standing_of(8)}, {1, standing_of(6)}}, 2).why_not ==
        "the copies of the survivors are too far apart");
}

}  // namespace
}  // namespace penstock
