#include "search/schedule_memo.h"

#include <initializer_list>

#include <doctest/doctest.h>

#include "search/plan_program.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

void check_alike(const Schedule& schedule, const Schedule& made) {
  CHECK(schedule.name == made.name);
  CHECK(schedule.rank_of_stage == made.rank_of_stage);
  CHECK(schedule.actions == made.actions);
  CHECK(schedule.blocks == made.blocks);
  CHECK(schedule.begin == made.begin);
}

TEST_CASE("a kept schedule is the one that is made, and squeezed ones are kept") {
  ScheduleMemo memo;
  for (const char* name : {"v-half", "v-min", "zb-v", "1f1b"}) {
    const ScheduleKind& kind = *find_schedule(name);
    const int chunks = kind.most_chunks == 1 ? 1 : 2;
    for (const int micro_batches : {8, 9, 40}) {
      const ScheduleShape shape{4, chunks, micro_batches};
      const auto first = memo.get(kind, shape), second = memo.get(kind, shape);
      check_alike(*first, make_schedule(name, shape));
      check_alike(*second, *first);
      CHECK((first == second) == ScheduleMemo::keeps(kind, shape));
    }
  }
  CHECK(ScheduleMemo::keeps(*find_schedule("v-half"), {4, 2, 8}));
  CHECK_FALSE(ScheduleMemo::keeps(*find_schedule("zb-v"), {4, 2, 8}));
}

// There is room for the first and the third, and so for the first and the second.
TEST_CASE("the least recently used go when all together hold too many actions") {
  const ScheduleKind& kind = *find_schedule("v-half");
  const auto shape = [](int micro_batches) { return ScheduleShape{4, 2, micro_batches}; };
  const auto size = [&](int m) { return make_schedule("v-half", shape(m)).actions.size(); };
  REQUIRE(size(2) <= size(3));
  ScheduleMemo memo(size(1) + size(3));
  const auto one = memo.get(kind, shape(1)), two = memo.get(kind, shape(2));
  CHECK(memo.get(kind, shape(1)) == one);
  CHECK(memo.get(kind, shape(2)) == two);
  CHECK(memo.get(kind, shape(1)) == one);
  const auto three = memo.get(kind, shape(3));  // the second goes
  CHECK(memo.get(kind, shape(1)) == one);
  CHECK(memo.get(kind, shape(3)) == three);
  CHECK(memo.get(kind, shape(2)) != two);
}

TEST_CASE("counts and schedules are the same with a memo and without one") {
  Random random(78);
  ScheduleMemo memo(2'000);
  for (int i = 0; i < testing::draws(400); ++i) {
    CAPTURE(i);
    Plan plan;
    testing::set_schedule(plan, testing::random_static_kind(random), 2);
    plan.pipeline = random.between(1, 4);
    plan.data = random.between(1, 3);
    plan.global_batch = random.between(plan.data, 40);
    if (!why_no_program(plan).empty()) continue;
    PlanCounts with(plan, &memo), without(plan);
    CHECK(with.least() == without.least());
    CHECK(with.exact() == without.exact());
    const PlanSchedules kept = schedules_of(plan, &memo), made = schedules_of(plan);
    REQUIRE(kept.schedules.size() == made.schedules.size());
    for (std::size_t p = 0; p < made.schedules.size(); ++p) {
      check_alike(kept.schedules[p], made.schedules[p]);
      CHECK(kept.pipelines[p].schedule == &kept.schedules[p]);
    }
  }
}

}  // namespace
}  // namespace penstock
