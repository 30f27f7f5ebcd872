#include "training/stage_layout.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

// Two sections: a matrix of 100 and a bias of 10; a matrix of 30 that is tied to the first.
ModelOutline two_sections() {
  ModelOutline outline;
  outline.sections = {{"a", "a", {{"bias", {10}}, {"weight", {10, 10}}, {"tied", {5, 6}}}, {}},
                      {"b", "b", {{"tied", {5, 6}}, {"norm", {7}}}, {}}};
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

TEST_CASE(
    "a section's weights lie together, decayed ones first, each at a multiple of 64 elements") {
  const auto segments = stage_layout(two_sections(), RankSetup{}, whole(), 1000);
  REQUIRE(segments.size() == 3);
  const Segment& a = segments[0];
  CHECK(a.tie == -1);
  CHECK(a.counted);
  // weight [0, 100), bias [128, 138).
  CHECK(a.at == SegmentPlace{0, -1, 192, 128, {{0, 192}}});
  CHECK(a.parameters == std::vector<PlacedParameter>{{0, 0, {128, 138}}, {0, 1, {0, 100}}});
  CHECK(a.buckets == a.at.owned);
  // What both share is placed once, with the first of them.
  const Segment& shared = segments[1];
  CHECK(shared.tie == -1);
  CHECK(shared.at == SegmentPlace{0, 0, 64, 64, {{0, 64}}});
  CHECK(shared.parameters == std::vector<PlacedParameter>{{0, 2, {0, 30}}, {1, 0, {0, 30}}});
  CHECK(segments[2].at == SegmentPlace{1, -1, 64, 0, {{0, 64}}});
  CHECK(segments[2].parameters == std::vector<PlacedParameter>{{1, 1, {0, 7}}});
}

TEST_CASE("a section lies the same in whatever stage it is, with or without other sections") {
  StageSetup second;
  second.stage = 1;
  second.first_section = 1;
  second.end_section = 2;
  const auto alone = stage_layout(two_sections(), RankSetup{}, second, 1000);
  CHECK(alone[0] == stage_layout(two_sections(), RankSetup{}, whole(), 1000)[2]);
  // Without the first section, the second is the first with what they share.
  CHECK(alone[1].at == SegmentPlace{1, 0, 64, 64, {{0, 64}}});
}

TEST_CASE("buckets: with ZeRO-1 every one divides by the holders, and each owns its part of all") {
  RankSetup setup;
  setup.zero1 = true;
  // Units of 2 * 64 = 128: 192 elements are padded to 256; buckets of 100 are rounded up to 128.
  const auto segments = stage_layout(two_sections(), setup, whole(2, 1), 100);
  const Segment& own = segments[0];
  CHECK(own.at.elements == 256);
  CHECK(own.at.decayed_end == 128);
  CHECK(own.buckets == std::vector<ElementRange>{{0, 128}, {128, 256}});
  CHECK(own.at.owned == std::vector<ElementRange>{{64, 128}, {192, 256}});
  CHECK(owned_offsets(own.at) == std::vector<std::size_t>{0, 64, 128});
  CHECK(own.counted);  // its part, whichever holder it is
}

// Of 4 holders 2 and 3 are the second group: holder 2 owns the first half of each bucket, as holder
// 0 does, which counts it.
TEST_CASE("groups of shards: each has all parts, and the first counts them") {
  RankSetup setup;
  setup.zero1 = true;
  setup.by_section = SectionSharding::kWeights;
  StageSetup stage = whole(4, 2);
  stage.shard_groups = 2;
  const Segment own = stage_layout(two_sections(), setup, stage, 100)[0];
  CHECK(own.at.owned == std::vector<ElementRange>{{0, 64}, {128, 192}});
  CHECK(own.at.by_section == SectionSharding::kWeights);
  CHECK(own.copies == 2);
  CHECK(own.copy == 1);
  CHECK_FALSE(own.counted);
}

TEST_CASE("without ZeRO-1 only holder 0 counts in the norm") {
  CHECK(stage_layout(two_sections(), RankSetup{}, whole(2, 0), 100)[0].counted);
  CHECK_FALSE(stage_layout(two_sections(), RankSetup{}, whole(2, 1), 100)[0].counted);
  CHECK(stage_layout(two_sections(), RankSetup{}, whole(2, 1), 100)[0].buckets.size() == 2);
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
  CHECK(of_first[1].at.elements == of_last[1].at.elements);
  CHECK(of_first[1].at.owned == std::vector<ElementRange>{{0, 64}});  // never divided
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
