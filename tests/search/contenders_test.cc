#include <doctest/doctest.h>

#include "search/group_queue.h"

namespace penstock {
namespace {

// Of these step times, in this order; D tells equal ones apart.
std::vector<Contender> contenders(int first_time, int count, int apart, int data) {
  std::vector<Contender> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Contender& one = all[static_cast<std::size_t>(i)];
    one.step_time = Duration{first_time + i * apart};
    one.plan.data = data;
  }
  return all;
}

TEST_CASE("no contender goes before there are twice as many as are kept") {
  Contenders kept(false);
  kept.add(contenders(2046, 2047, -1, 1));
  CHECK(kept.slowest() == Duration::max());
  REQUIRE(kept.sorted().size() == 2047);
  CHECK(kept.sorted().front().step_time == Duration{0});
  CHECK(kept.sorted().back().step_time == Duration{2046});
}

TEST_CASE("then the slower half goes, and with it whatever is slower than the rest") {
  Contenders kept(false);
  kept.add(contenders(0, 2048, 1, 1));  // 0 .. 2047 ns: 0 .. 1023 stay
  CHECK(kept.slowest() == Duration{1023});
  kept.add(contenders(1023, 2, 1, 2));  // one as fast as the slowest, which was there first
  CHECK(kept.slowest() == Duration{1023});
  REQUIRE(kept.sorted().size() == 1024);
  CHECK(kept.sorted().back().step_time == Duration{1023});
  CHECK(kept.sorted().back().plan.data == 1);
  // Whether slower ones are added or left out changes nothing.
  Contenders others(false);
  others.add(contenders(0, 2048, 1, 1));
  others.add(contenders(5000, 2000, 1, 2));
  REQUIRE(others.sorted().size() == 1024);
  CHECK(others.sorted().back().step_time == Duration{1023});
}

// The half of 2,048 goes again when 1,024 have come, be they there or only counted.
TEST_CASE("contenders that are too slow are counted as if they were there") {
  Contenders added(false), counted(false);
  for (Contenders* contenders_of : {&added, &counted}) {
    contenders_of->add(contenders(1000, 2048, 1, 1));  // 1000 .. 2023 ns stay
    contenders_of->add(contenders(0, 1000, 1, 2));
    CHECK(contenders_of->slowest() == Duration{2023});
  }
  added.add(contenders(5000, 24, 1, 3));
  counted.add({}, 24);
  for (Contenders* contenders_of : {&added, &counted}) {
    CHECK(contenders_of->slowest() == Duration{1023});  // 0 .. 999 of the second, and 24 more
    REQUIRE(contenders_of->sorted().size() == 1024);
    CHECK(contenders_of->sorted().back().plan.data == 1);
  }
}

TEST_CASE("the contenders of a book are of many sizes: none is too slow to be made") {
  Contenders kept(true);
  kept.add(contenders(0, 2048, 1, 1));
  kept.add(contenders(5000, 10, 1, 1));
  CHECK(kept.slowest() == Duration::max());
  REQUIRE(kept.sorted().size() == 1034);
  CHECK(kept.sorted().back().step_time == Duration{5009});
}

}  // namespace
}  // namespace penstock
