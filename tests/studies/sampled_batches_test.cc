#include "studies/sampled_batches.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// 1,000 samples that are told apart by their lengths, 2 to 1,001 tokens; one less is fed of each.
LengthBatch thousand() {
  LengthBatch samples;
  for (int length = 2; length <= 1001; ++length) samples.push_back({length, 0});
  return samples;
}

std::int64_t tokens_of(const LengthBatch& batch) {
  std::int64_t sum = 0;
  for (const SampleLength& sample : batch) sum += sample.tokens - 1;
  return sum;
}

TEST_CASE("an epoch has every sample once, in an order of its own") {
  // All samples have 500,500 tokens: batches of 50,000 of them end the epoch in the eleventh.
  const std::vector<LengthBatch> batches = sampled_batches(thousand(), {}, {50'000, 22, 7});
  std::vector<int> first, second;
  for (const LengthBatch& batch : batches) {
    for (const SampleLength& sample : batch) {
      (first.size() < 1000 ? first : second).push_back(sample.tokens);
    }
  }
  REQUIRE(second.size() >= 1000);
  second.resize(1000);
  CHECK(first != second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  CHECK(first.front() == 2);
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}

TEST_CASE("a batch ends before the sample that would be too much") {
  const std::vector<LengthBatch> batches = sampled_batches(thousand(), {}, {50'000, 5, 7});
  for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
    CHECK(tokens_of(batches[i]) <= 50'000);
    CHECK(tokens_of(batches[i]) + batches[i + 1].front().tokens - 1 > 50'000);
  }
  CHECK(batches == sampled_batches(thousand(), {}, {50'000, 5, 7}));
  CHECK(batches != sampled_batches(thousand(), {}, {50'000, 5, 8}));
}

TEST_CASE("a sample larger than a batch is a batch by itself") {
  const std::vector<LengthBatch> batches = sampled_batches({{101, 0}}, {}, {50, 3, 1});
  REQUIRE(batches.size() == 3);
  for (const LengthBatch& batch : batches) CHECK(batch == LengthBatch{{101, 0}});
}

}  // namespace
}  // namespace penstock
