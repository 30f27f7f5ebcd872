#include "search/rejections.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

Rejection over(const char* reason, int bytes) {
  return {reason, 1, Bytes{bytes}, Bytes{bytes}, ""};
}
Plan plan_with(int pipeline) {
  Plan plan;
  plan.pipeline = pipeline;
  return plan;
}

TEST_CASE("reasons are counted, and keep the least, the most and the closest plan") {
  Rejections all;
  all.add(over("stage 0 over memory", 30), 2, plan_with(1));
  all.add(over("stage 0 over memory", 10), 1, plan_with(2));
  all.add(over("stage 0 over memory", 20), 1, plan_with(3));
  all.add("no measurement", 7, plan_with(4));
  const auto list = all.sorted();
  REQUIRE(list.size() == 2);
  CHECK(list[0].rejection.reason == "no measurement");
  CHECK(list[0].rejection.candidates == 7);
  CHECK_FALSE(list[0].rejection.least_over);
  CHECK(list[0].closest.pipeline == 4);
  CHECK(list[1].rejection.candidates == 4);
  CHECK(list[1].rejection.least_over == Bytes{10});
  CHECK(list[1].rejection.most_over == Bytes{30});
  CHECK(list[1].closest.pipeline == 2);
}

TEST_CASE("parts merged in order say what one list would; ties go by text") {
  Rejections whole, first, second;
  const auto add = [&whole](Rejections& part, const char* reason, int bytes, int pipeline) {
    part.add(over(reason, bytes), 1, plan_with(pipeline));
    whole.add(over(reason, bytes), 1, plan_with(pipeline));
  };
  add(first, "b", 5, 1);
  add(first, "a", 9, 2);
  add(second, "a", 9, 3);  // as close: the first stays
  add(second, "b", 4, 4);
  first.merge(second);
  const auto parts = first.sorted();
  const auto expected = whole.sorted();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].rejection.reason == "a");
  CHECK(parts[0].closest.pipeline == 2);
  CHECK(parts[1].closest.pipeline == 4);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(parts[i].rejection.reason == expected[i].rejection.reason);
    CHECK(parts[i].rejection.candidates == expected[i].rejection.candidates);
    CHECK(parts[i].rejection.least_over == expected[i].rejection.least_over);
    CHECK(parts[i].rejection.most_over == expected[i].rejection.most_over);
    CHECK(parts[i].closest == expected[i].closest);
  }
}

}  // namespace
}  // namespace penstock
