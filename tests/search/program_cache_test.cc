#include "search/program_cache.h"

#include <doctest/doctest.h>

#include "search/memo.h"
#include "search/plan_program.h"
#include "simulator/simulate.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

TEST_CASE("a shared Program replays as the plan's own does") {
  Random random(71);
  const ExecutorModel executor;
  ProgramCache cache(executor);
  for (int i = 0; i < testing::draws(3'000); ++i) {
    Plan plan;
    testing::set_schedule(plan, testing::random_static_kind(random), 2);
    plan.pipeline = random.between(1, 3);
    plan.data = random.between(1, 4);
    plan.context = random.between(1, 2);  // ranks of one sequence reduce gradients, too
    plan.offload_optimizer = random.coin();
    plan.micro_batch_size = random.between(1, 4);
    plan.global_batch = random.between(plan.data, 16);
    plan.zero1 = random.coin();
    if (!why_no_program(plan).empty()) continue;
    std::vector<PlanTie> ties;
    if (plan.stages() > 1 && random.coin()) ties.push_back({"embedding", {0, plan.stages() - 1}});
    if (plan.stages() > 2 && random.coin()) ties.push_back({"other", {0, 1}});
    const bool recomputes = random.coin();
    const auto program = cache.get(plan, ties, recomputes);
    const Program own =
        program_of(schedules_of(plan), lowering_of(plan, ties, recomputes, executor));
    CHECK(program->actions == own.actions);
    CHECK(program->groups == own.groups);
    REQUIRE(program->micro_batches.size() == own.micro_batches.size());
    const int shapes = static_cast<int>(micro_batch_shapes(plan).size());
    const StagePrices prices =
        testing::random_prices(random, plan.stages(), shapes, testing::names_of(ties));
    CHECK(simulate_summary(*program, prices, executor) == simulate_summary(own, prices, executor));
    CHECK(cache.get(plan, ties, recomputes) == program);
  }
}

TEST_CASE("a memo makes each value once and keeps it") {
  Memo<int, std::string> memo;
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::string("seven");
  };
  const auto first = memo.get(7, make);
  CHECK(*first == "seven");
  CHECK(memo.get(7, make) == first);
  CHECK(made == 1);
  CHECK(*memo.get(8, [] { return std::string("eight"); }) == "eight");
}

}  // namespace
}  // namespace penstock
