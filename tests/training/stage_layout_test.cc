#include "training/stage_layout.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// Two sections: a matrix of 100 and a bias of 10; a matrix of 30 that is tied to the first.
ModelOutline two_sections() {
  ModelOutline outline;
  outline.sections = {{"a", "a", {{"bias", {10}}, {"weight", {10, 10}}, {"tied", {5, 6}}}},
                      {"b", "b", {{"tied", {5, 6}}, {"norm", {7}}}}};
  outline.ties = {{"t", {0, 1}, {2, 0}}};
  return outline;
}
StageSetup whole(int holders = 1, int holder = 0) {
  StageSetup stage;
  stage.end_section = 2;
  stage.holders = holders;
  stage.holder = holder;
  return stage;
}

TEST_CASE("what is decayed lies before what is not, every tensor at a multiple of 64 elements") {
  const auto segments = stage_layout(two_sections(), RankSetup{}, whole(), 1000);
  REQUIRE(segments.size() == 1);
  const Segment& own = segments[0];
  CHECK(own.tie == -1);
  CHECK(own.counted);
  // weight [0, 100), tied [128, 158), bias [192, 202), norm [256, 263).
  CHECK(own.decayed_end == 192);
  CHECK(own.elements == 320);
  CHECK(own.parameters == std::vector<PlacedParameter>{{0, 0, {192, 202}},
                                                       {0, 1, {0, 100}},
                                                       {0, 2, {128, 158}},
                                                       {1, 0, {128, 158}},  // the same tensor
                                                       {1, 1, {256, 263}}});
  CHECK(own.buckets == std::vector<ElementRange>{{0, 320}});
  CHECK(own.owned == own.buckets);
}

TEST_CASE("buckets: with ZeRO-1 every one divides by the holders, and each owns its part of all") {
  RankSetup setup;
  setup.zero1 = true;
  // Units of 3 * 64 = 192: 320 elements are padded to 384; buckets of 100 are rounded up to 192.
  const auto segments = stage_layout(two_sections(), setup, whole(3, 1), 100);
  const Segment& own = segments[0];
  CHECK(own.elements == 384);
  CHECK(own.buckets == std::vector<ElementRange>{{0, 192}, {192, 384}});
  CHECK(own.owned == std::vector<ElementRange>{{64, 128}, {256, 320}});
  CHECK(owned_offsets(own) == std::vector<std::size_t>{0, 64, 128});
  CHECK(own.counted);  // its part, whichever holder it is
}

TEST_CASE("without ZeRO-1 only holder 0 counts in the norm") {
  CHECK(stage_layout(two_sections(), RankSetup{}, whole(2, 0), 100)[0].counted);
  CHECK_FALSE(stage_layout(two_sections(), RankSetup{}, whole(2, 1), 100)[0].counted);
  CHECK(stage_layout(two_sections(), RankSetup{}, whole(2, 1), 100)[0].buckets.size() == 4);
}

TEST_CASE("a tensor that other stages hold too is a segment of its own, counted by the first") {
  RankSetup setup;
  setup.zero1 = true;
  setup.ties = {{"t", {1, 4}}};
  StageSetup first, last;
  first.stage = 1;
  first.end_section = 1;
  last.stage = 4;
  last.first_section = 1;
  last.end_section = 2;
  first.holders = last.holders = 2;
  const auto of_first = stage_layout(two_sections(), setup, first, 1000);
  const auto of_last = stage_layout(two_sections(), setup, last, 1000);
  REQUIRE(of_first.size() == 2);
  REQUIRE(of_last.size() == 2);
  CHECK(of_first[1].tie == 0);
  CHECK(of_first[1].elements == of_last[1].elements);
  CHECK(of_first[1].owned == std::vector<ElementRange>{{0, 64}});  // never divided
  CHECK(of_first[1].counted);
  CHECK_FALSE(of_last[1].counted);
  CHECK(of_last[1].parameters == std::vector<PlacedParameter>{{1, 0, {0, 30}}});
  CHECK(of_last[0].parameters == std::vector<PlacedParameter>{{1, 1, {0, 7}}});
}

TEST_CASE("a tie is counted in the first replica, whichever holder its first stage is there") {
  // Two copies of the weights on four ranks: stage 2 lies on rank 2, its copy on rank 1, which is
  // therefore holder 0.
  RankSetup setup;
  setup.ties = {{"t", {2, 3, 6, 7}}};
  StageSetup first;
  first.stage = 2;
  first.end_section = 1;
  first.holders = 4;
  first.holder = 1;
  CHECK(stage_layout(two_sections(), setup, first, 1000)[1].counted);
  setup.replica = 1;
  first.holder = 3;
  CHECK_FALSE(stage_layout(two_sections(), setup, first, 1000)[1].counted);
}

}  // namespace
}  // namespace penstock
