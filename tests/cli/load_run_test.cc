#include "cli/io/load_run.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

// Step k took 100 - k ms, and holds when its actions ran.
LoadedRun run_of(int steps) {
  LoadedRun run;
  for (int step = 0; step < steps; ++step) {
    MeasuredStep one;
    one.step = step;
    one.step_time = Duration{(100 - step) * 1'000'000};
    one.ranks.emplace_back();
    run.log.steps.push_back(one);
  }
  return run;
}

TEST_CASE("three steps are warm-up, of fewer than four all but the last") {
  CHECK(warm_up_of(run_of(10)) == 3);
  CHECK(warm_up_of(run_of(4)) == 3);
  CHECK(warm_up_of(run_of(2)) == 1);
  CHECK(warm_up_of(run_of(1)) == 0);
  CHECK(warm_up_of(run_of(0)) == 0);
}

TEST_CASE("of traces one step is warm-up, of a trainer's log none is left") {
  LoadedRun traces = run_of(10);
  traces.is_traces = true;
  CHECK(warm_up_of(traces) == 1);
  LoadedRun log = run_of(10);
  log.is_trainer_log = true;
  CHECK(warm_up_of(log, 5) == 0);
}

TEST_CASE("what was asked for counts, even where it leaves no step") {
  CHECK(warm_up_of(run_of(10), 5) == 5);
  CHECK(warm_up_of(run_of(2), 5) == 5);
}

// Of steps 3, 4 and 5 with 97, 96 and 95 ms step 4 is the median; with the warm-up it would be 3.
TEST_CASE("the step that is shown is not of the warm-up") {
  LoadedRun run = run_of(6);
  CHECK(shown_step(run, "run.jsonl", {}).step == 4);
  // Only the second step was traced.
  for (MeasuredStep& step : run.log.steps) {
    if (step.step != 1) step.ranks.clear();
  }
  CHECK(shown_step(run, "run.jsonl", {}).step == 1);
}

TEST_CASE("of a run with several plans the steps of the plan that is asked about are kept") {
  const auto mixed = [] {
    LoadedRun run = run_of(6);
    run.log.header.plan = "a.json";
    run.log.header.plan_hash = "one";
    for (const std::size_t step : {1U, 4U}) {
      run.log.steps[step].plan = "b.json";
      run.log.steps[step].plan_hash = "two";
    }
    return run;
  };
  Loaded<PlanFile> plan;
  plan.file.path = "plan.json";
  plan.file.hash = "two";
  LoadedRun run = mixed();
  keep_steps_of(plan, run, "run.jsonl", false);
  REQUIRE(run.log.steps.size() == 2);
  CHECK(run.log.steps[1].step == 4);
  CHECK(run.notes == std::vector<std::string>{
                         "2 of the run's 6 steps ran under this plan; the others are left out"});
  plan.file.hash = "one";
  run = mixed();
  keep_steps_of(plan, run, "run.jsonl", false);
  CHECK(run.log.steps.size() == 4);

  plan.file.hash = "three";
  run = mixed();
  CHECK(tests::message_of([&] { keep_steps_of(plan, run, "run.jsonl", false); }) ==
        "run.jsonl: it ran a plan with the hash one (a.json), but plan.json has three\n"
        "help: name the plan file that it ran, or compare anyway with --any-plan");
  keep_steps_of(plan, run, "run.jsonl", true);
  CHECK(run.log.steps.size() == 4);
  CHECK(run.notes == std::vector<std::string>{
                         "4 of the run's 6 steps ran under a.json; the others are left out"});
}

}  // namespace
}  // namespace penstock
