#include "training/virtual_work.h"

#include <memory>

#include <doctest/doctest.h>

#include "training/steady_time.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

TEST_CASE("an action lasts at least what its table says") {
  VirtualDurations durations(2, 3);
  durations.set(ActionKind::kForward, 1, 2, milliseconds(20));
  durations.set(ActionKind::kRecompute, 1, 2, milliseconds(5));
  durations.set(ActionKind::kOptimizer, 1, milliseconds(10));
  durations.set_norm(milliseconds(15));
  CHECK(durations.of(ActionKind::kForward, 1, 2) == milliseconds(20));
  CHECK(durations.of(ActionKind::kForward, 1, 1) == Duration{0});
  CHECK(durations.of(ActionKind::kRecompute, 1, 2) == milliseconds(5));

  RankSetup setup;
  StageSetup stage;
  stage.stage = 1;
  stage.holders = 2;
  setup.stages = {stage};
  SteadyRankClock clock;
  VirtualWork work(setup, std::make_shared<VirtualDurations>(durations), clock);
  const SteadyTime begin = steady_now();
  work.compute(ActionKind::kForward, 1, 2);
  const SteadyTime forward = steady_now();
  work.optimize(1);
  const SteadyTime optimized = steady_now();
  CHECK(work.norm_share().squared_norm == 0.0);
  work.set_global_norm({});
  CHECK(forward - begin >= milliseconds(20));
  CHECK(optimized - forward >= milliseconds(10));
  CHECK(steady_now() - optimized >= milliseconds(15));
  CHECK(work.gradients(1)[0].elements == 2);  // divides among the holders
}

}  // namespace
}  // namespace penstock
