#include "spilling/shards.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

FitsShard at_most(int sections) {
  return [sections](int first, int end) { return end - first <= sections; };
}

std::string refused(const std::vector<int>& last, int sections) {
  return tests::message_of([&] { (void)preset_shards(last, sections); });
}

}  // namespace

// Hydra's pilot pass gives 0-3, 3-6, 6-9, 9-11: one layer lands in two shards.
TEST_CASE("twelve sections of size 1 in a capacity of 4 are three shards of four") {
  CHECK(pilot_shards(12, at_most(4)).cuts == ShardCuts{0, 4, 8, 12});
  CHECK(pilot_shards(13, at_most(4)).cuts == ShardCuts{0, 4, 8, 12, 13});
  CHECK(pilot_shards(3, at_most(4)).cuts == ShardCuts{0, 3});
}

TEST_CASE("a section that fits nowhere is named") {
  const PilotShards shards = pilot_shards(
      5, [](int first, int end) { return end - first <= 2 && (first > 2 || end <= 2); });
  CHECK(shards.cuts.empty());
  CHECK(shards.too_large == 2);
}

TEST_CASE("a list of last sections ascends and is complete") {
  CHECK(preset_shards({3, 7, 11}, 12) == ShardCuts{0, 4, 8, 12});
  CHECK(preset_shards({11}, 12) == ShardCuts{0, 12});
  CHECK(refused({3, 3, 11}, 12).find("3 is not the last section of a shard behind section 3") !=
        std::string::npos);
  CHECK(refused({3, 12}, 12).find("from 0 to 11") != std::string::npos);
  CHECK(refused({3, 7}, 12).find("sections 8 to 11 are in none") != std::string::npos);
  CHECK(refused({}, 12).find("sections 0 to 11 are in none") != std::string::npos);
}

}  // namespace penstock
