#include "runtime_bridge/plans_ahead.h"

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

// A plan that is named after its step.
PlannedStep named(std::int64_t step) {
  auto plan = std::make_shared<PlanFile>();
  plan->model = std::to_string(step);
  return {plan, std::make_shared<StepSamples>()};
}

TEST_CASE("every step has its own plan, whatever the threads and however far they are ahead") {
  for (const int threads : {1, 3}) {
    for (const int ahead : {0, 2, 7}) {
      PlansAhead plans(named,
                       {.first_step = 5, .end_step = 25, .threads = threads, .ahead = ahead});
      for (std::int64_t step = 5; step < 25; ++step) {
        const PlanForSteps current = plans.plan_from(step);
        CHECK(current.plan->model == std::to_string(step));
        CHECK(current.end_step == step + 1);
        CHECK(current.samples != nullptr);
        CHECK(plans.planned(step).plan == current.plan);
      }
    }
  }
}

// As ranks do, which meet in every step: no one is two steps behind another.
TEST_CASE("ranks that are threads get the same plan, which is made once") {
  std::atomic<int> made{0};
  PlansAhead plans(
      [&](std::int64_t step) {
        ++made;
        return named(step);
      },
      {.first_step = 0, .end_step = 10, .threads = 2, .ahead = 3});
  std::vector<std::vector<const PlanFile*>> seen(3);
  std::barrier step_begins(3);
  std::vector<std::thread> ranks;
  for (auto& own : seen) {
    ranks.emplace_back([&] {
      for (std::int64_t step = 0; step < 10; ++step) {
        step_begins.arrive_and_wait();
        own.push_back(plans.plan_from(step).plan.get());
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  CHECK(made == 10);
}

TEST_CASE("no more is planned than was asked to be ahead") {
  std::atomic<std::int64_t> last{-1};
  PlansAhead plans(
      [&](std::int64_t step) {
        last = step;
        return named(step);
      },
      {.first_step = 0, .end_step = 100, .threads = 1, .ahead = 2});
  static_cast<void>(plans.plan_from(0));
  static_cast<void>(plans.plan_from(1));
  // One thread: when step 3 is there, nothing else is under way but 2 and 3.
  static_cast<void>(plans.plan_from(3));
  CHECK(last <= 5);
}

TEST_CASE("a plan that is gone, or that no step will have, is refused instead of waited for") {
  PlansAhead plans(named, {.first_step = 0, .end_step = 5, .threads = 1, .ahead = 2});
  for (std::int64_t step = 0; step < 5; ++step) static_cast<void>(plans.plan_from(step));
  CHECK(tests::message_of([&] {
          static_cast<void>(plans.plan_from(0));
        }).find("the plan of step 0 is not made") == 0);
  CHECK(tests::message_of([&] {
          static_cast<void>(plans.plan_from(5));
        }).find("the plan of step 5 is not made") == 0);
}

TEST_CASE("a planner that fails ends the run at its step, with its message, on every rank") {
  PlansAhead plans(
      [](std::int64_t step) {
        if (step == 2) throw_bad_input("sample 7 fits nowhere");
        return named(step);
      },
      {.first_step = 0, .end_step = 10, .threads = 1, .ahead = 5});
  static_cast<void>(plans.plan_from(0));
  static_cast<void>(plans.plan_from(1));
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(tests::message_of([&] { static_cast<void>(plans.plan_from(2)); }) ==
          "sample 7 fits nowhere");
  }
}

}  // namespace
}  // namespace penstock
