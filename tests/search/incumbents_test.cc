#include "search/incumbents.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

Found found(int step, int devices, int memory) {
  Found f;
  f.plan.data = devices;
  f.step_time = Duration{step};
  f.memory = {memory};
  return f;
}

TEST_CASE("of two plans that take as long the one with fewer messages comes first") {
  const auto pipeline = [](int chunks, int micro_batch_size, int memory) {
    Found f = found(7, 1, memory);
    f.plan.pipeline = 2;
    f.plan.chunks = chunks;
    f.plan.global_batch = 8;
    f.plan.micro_batch_size = micro_batch_size;
    return f;
  };
  CHECK(comes_before(pipeline(1, 1, 9), pipeline(2, 1, 1)));  // 16 messages, 48
  CHECK(comes_before(pipeline(2, 4, 9), pipeline(1, 1, 1)));  // 12 messages, 16
  Found in_v = pipeline(2, 1, 1);                             // 32: the turn is on one rank
  in_v.plan.stage_map = StageMap::kV;
  CHECK(comes_before(in_v, pipeline(2, 1, 1)));
  CHECK(comes_before(pipeline(1, 1, 9), in_v));
  CHECK(comes_before(found(7, 2, 9), pipeline(1, 1, 1)));  // replicas have none
}

TEST_CASE("faster first, then fewer devices, then less memory, then the plan's numbers") {
  CHECK(comes_before(found(1, 9, 9), found(2, 1, 1)));
  CHECK(comes_before(found(1, 1, 9), found(1, 2, 1)));
  CHECK(comes_before(found(1, 1, 1), found(1, 1, 2)));
  Found a = found(1, 1, 1);
  Found b = a;
  CHECK_FALSE(comes_before(a, b));
  b.plan.schedule = "gpipe";
  CHECK(comes_before(a, b));  // "1f1b" < "gpipe"
  a.plan.zero1 = true;
  CHECK(comes_before(b, a));
}

TEST_CASE("the K best and the fastest per budget do not depend on the order of finding") {
  testing::Random random(61);
  for (int round = 0; round < testing::draws(100); ++round) {
    std::vector<Found> all;
    for (int i = 0; i < 30; ++i) {
      all.push_back(found(random.between(1, 9), random.between(1, 8), random.between(1, 8)));
      all.back().plan.cuts = {i};  // a total order
    }
    const std::vector<Budget> budgets{{8, {8}}, {4, {8}}, {8, {2}}};
    Incumbents incumbents(5, budgets);
    for (const Found& f : all) incumbents.add(f);
    std::sort(all.begin(), all.end(), comes_before);
    REQUIRE(incumbents.best().size() == 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK(incumbents.best()[i].plan == all[i].plan);
    std::vector<Plan> expected;
    for (const Budget& budget : budgets) {
      for (const Found& f : all) {
        if (f.plan.devices() > budget.devices || f.memory > budget.memory) continue;
        // One that leads several is listed once.
        if (std::ranges::find(expected, f.plan) == expected.end()) expected.push_back(f.plan);
        break;
      }
    }
    const auto fastest = incumbents.fastest_per_budget();
    REQUIRE(fastest.size() == expected.size());
    for (std::size_t i = 0; i < fastest.size(); ++i) CHECK(fastest[i].plan == expected[i]);
  }
}

TEST_CASE("a bound matters until K plans are faster, and in every budget it could win") {
  Incumbents incumbents(2, {{8, {100}}, {4, {100}}, {8, {50}}});
  CHECK(incumbents.may_matter(Duration{1'000}, 8, {100}));
  incumbents.add(found(10, 8, 90));
  CHECK(incumbents.may_matter(Duration{1'000}, 9, {101}));  // there is room among the best
  incumbents.add(found(20, 8, 90));
  CHECK(incumbents.may_matter(Duration{20}, 8, {90}));  // ties are decided by more than time
  CHECK_FALSE(incumbents.may_matter(Duration{21}, 8, {90}));
  CHECK(incumbents.may_matter(Duration{21}, 4, {90}));  // nothing yet on four devices
  CHECK(incumbents.may_matter(Duration{21}, 8, {50}));  // nor in half the memory
  incumbents.add(found(30, 4, 40));
  CHECK(incumbents.may_matter(Duration{30}, 4, {90}));
  CHECK_FALSE(incumbents.may_matter(Duration{31}, 4, {90}));
  CHECK_FALSE(incumbents.may_matter(Duration{31}, 8, {50}));
  CHECK_FALSE(incumbents.may_matter(Duration{31}, 1, {0}));
  CHECK(incumbents.slowest_that_matters(9, {101}) == Duration{20});
  CHECK(incumbents.slowest_that_matters(4, {90}) == Duration{30});
  CHECK_FALSE(Incumbents(1, {}).slowest_that_matters(1, {0}));
}

TEST_CASE("with a limit slower plans are kept, since better cuts may make them faster") {
  Incumbents incumbents(2, {{8, {100}}}, Duration{20});
  CHECK_FALSE(incumbents.is_beyond_limit(Duration{19}));
  CHECK(incumbents.is_beyond_limit(Duration{20}));
  CHECK_FALSE(Incumbents(2, {}).is_beyond_limit(Duration::max()));
  CHECK(incumbents.may_matter(Duration{20}, 8, {90}));
  incumbents.add(found(20, 8, 90));
  CHECK(incumbents.best().size() == 1);
  CHECK(incumbents.to_lead(8, 1) == Duration{20});
}

}  // namespace
}  // namespace penstock
