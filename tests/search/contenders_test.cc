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

// 256 are kept.
TEST_CASE("no contender goes before there are twice as many as are kept") {
  Contenders kept(false);
  kept.add(contenders(510, 511, -1, 1));
  CHECK(kept.slowest() == Duration::max());
  REQUIRE(kept.sorted().size() == 511);
  CHECK(kept.sorted().front().step_time == Duration{0});
  CHECK(kept.sorted().back().step_time == Duration{510});
}

TEST_CASE("then the slower half goes, and with it whatever is slower than the rest") {
  Contenders kept(false);
  kept.add(contenders(0, 512, 1, 1));  // 0 .. 511 ns: 0 .. 255 stay
  CHECK(kept.slowest() == Duration{255});
  kept.add(contenders(255, 2, 1, 2));  // one as fast as the slowest, which was there first
  CHECK(kept.slowest() == Duration{255});
  REQUIRE(kept.sorted().size() == 256);
  CHECK(kept.sorted().back().step_time == Duration{255});
  CHECK(kept.sorted().back().plan.data == 1);
  // Whether slower ones are added or left out changes nothing.
  Contenders others(false);
  others.add(contenders(0, 512, 1, 1));
  others.add(contenders(5000, 500, 1, 2));
  REQUIRE(others.sorted().size() == 256);
  CHECK(others.sorted().back().step_time == Duration{255});
}

// The half of 512 goes again when 256 have come, be they there or only counted.
TEST_CASE("contenders that are too slow are counted as if they were there") {
  Contenders added(false), counted(false);
  for (Contenders* contenders_of : {&added, &counted}) {
    contenders_of->add(contenders(1000, 512, 1, 1));  // 1000 .. 1255 ns stay
    contenders_of->add(contenders(0, 250, 1, 2));
    CHECK(contenders_of->slowest() == Duration{1255});
  }
  added.add(contenders(5000, 6, 1, 3));
  counted.add({}, 6);
  for (Contenders* contenders_of : {&added, &counted}) {
    CHECK(contenders_of->slowest() == Duration{1005});  // 0 .. 249 of the second, and 6 more
    REQUIRE(contenders_of->sorted().size() == 256);
    CHECK(contenders_of->sorted().back().plan.data == 1);
  }
}

TEST_CASE("the contenders of a book are of many sizes: none is too slow to be made") {
  Contenders kept(true);
  kept.add(contenders(0, 512, 1, 1));
  kept.add(contenders(5000, 10, 1, 1));
  CHECK(kept.slowest() == Duration::max());
  REQUIRE(kept.sorted().size() == 266);
  CHECK(kept.sorted().back().step_time == Duration{5009});
}

}  // namespace
}  // namespace penstock
