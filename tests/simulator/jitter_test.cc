#include "simulator/jitter.h"

#include <cstdlib>

#include <doctest/doctest.h>

namespace penstock {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 21U;  // one standard deviation of a sample

Action forward(std::uint32_t micro_batch, std::uint16_t stage) {
  Action action;
  action.micro_batch = MicroBatchId{micro_batch};
  action.stage = StageId{stage};
  return action;
}

std::int64_t sample(std::uint64_t seed, std::uint64_t lane, const Action& action) {
  return jitter_sample(jitter_key(seed, lane), jitter_key(action));
}

// Worked out apart from this code, with the integers of Python.
TEST_CASE("samples are the same on every machine") {
  CHECK(sample(1, 1, forward(0, 0)) == -2'001'699);
  CHECK(sample(1, 2, forward(0, 0)) == 470'031);
  CHECK(sample(2, 1, forward(0, 0)) == 450'921);
  CHECK(sample(1, 1, forward(1, 0)) == -824'341);
  CHECK(sample(1, 1, forward(0, 1)) == 2'432'065);
}

// Of 2^18 samples the mean has a standard error of one in 2^9 standard deviations; the squares
// (fourth moment 2.6 of a sum of three uniforms) have sqrt(1.6) / 2^9 = 0.25 %. Four of them each.
TEST_CASE("samples have mean 0 and standard deviation 2^21, within 3 * 2^21") {
  constexpr std::int64_t kSamples = std::int64_t{1} << 18U;
  std::int64_t sum = 0;
  double squares = 0.0, with_next_lane = 0.0, with_next_micro_batch = 0.0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const auto lane = static_cast<std::uint64_t>(i % 512);
    const auto micro_batch = static_cast<std::uint32_t>(i / 512);
    const std::int64_t x = sample(7, lane, forward(micro_batch, 3));
    REQUIRE(std::abs(x) < 3 * kOne);
    sum += x;
    const auto unit = [](std::int64_t v) {
      return static_cast<double>(v) / static_cast<double>(kOne);
    };
    squares += unit(x) * unit(x);
    with_next_lane += unit(x) * unit(sample(7, lane + 1, forward(micro_batch, 3)));
    with_next_micro_batch += unit(x) * unit(sample(7, lane, forward(micro_batch + 1, 3)));
  }
  CHECK(std::abs(sum / kSamples) < kOne / 128);
  const auto mean = [](double total) { return total / static_cast<double>(kSamples); };
  CHECK(std::abs(mean(squares) - 1.0) < 0.01);
  CHECK(std::abs(mean(with_next_lane)) < 1.0 / 128);
  CHECK(std::abs(mean(with_next_micro_batch)) < 1.0 / 128);
}

TEST_CASE("a sample of one standard deviation moves the duration by the spread") {
  CHECK(jittered(100, 7, 0) == 100);
  CHECK(jittered(100, 7, kOne) == 107);
  CHECK(jittered(100, 7, -kOne) == 93);
  CHECK(jittered(100, 7, kOne / 2) == 104);  // 3.5, to the nearest
  CHECK(jittered(100, 0, 3 * kOne) == 100);
  CHECK(jittered(100, 50, -3 * kOne) == 0);  // not -50
  const std::int64_t longest = kLongestDuration.count();
  CHECK(jittered(longest, longest, 2 * kOne) == 3 * longest);
}

TEST_CASE("a collective has one sample, whoever of its members is asked") {
  Action one;
  one.kind = ActionKind::kReduceGradient;
  one.group = GroupId{2};
  one.stage = StageId{0};
  Action other = one;
  other.stage = StageId{5};
  other.waits_for = 17;
  CHECK(jitter_key(one) == jitter_key(other));
  other.kind = ActionKind::kUnshard;
  CHECK(jitter_key(one) != jitter_key(other));
}

TEST_CASE("an assumed spread fills the gaps only") {
  StagePrices prices;
  prices.compute.resize(1);
  prices.compute[0].forward = {Duration{1000}, Duration{3}};
  prices.compute[0].recompute = {Duration{1010}, Duration{}};
  prices.norm = {Duration{}, Duration{}};
  CHECK(has_spreads(prices));
  const StagePrices assumed = with_assumed_spreads(prices, *parse_factor("0.02"));
  CHECK(assumed.compute[0].forward == Price{Duration{1000}, Duration{3}});
  CHECK(assumed.compute[0].recompute == Price{Duration{1010}, Duration{21}});  // 20.2, rounded up
  CHECK(assumed.norm == Price{});
  CHECK_FALSE(has_spreads(StagePrices{}));
}

}  // namespace
}  // namespace penstock
