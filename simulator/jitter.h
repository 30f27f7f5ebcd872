// Jitter: in every lane each action deviates from its price by a sample of its own, drawn from a
// hash of (seed, lane, action). No state: a lane is the same whatever else is sampled, in which
// order, on which machine.
//
// The sample is the sum of three uniform numbers, scaled to the price's spread as its standard
// deviation: a bell that ends at three spreads on either side. A duration that would be negative
// is 0, so a spread of more than a third of the duration raises the mean.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/values/executor_model.h"
#include "core/values/factor.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "simulator/events/action_durations.h"

namespace penstock {

// What stands for an action in the hash: its kind, stage and micro-batch; of a collective, which
// all members perform at once, kind and group. Not its place in the Program.
std::uint64_t jitter_key(const Action& action);

// What stands for a lane.
std::uint64_t jitter_key(std::uint64_t seed, std::uint64_t lane);

// Every bit of the result depends on every bit of `x` (the finalizer of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D0'49BB'1331'11EBU;
  return x ^ (x >> 31U);
}

// A sample with mean 0 and standard deviation 2^21 (the sum of three uniform integers of 21 bits
// has 2^20, but for one part in 2^43), symmetric, within 3 * 2^21.
constexpr std::int64_t jitter_sample(std::uint64_t lane_key, std::uint64_t action_key) {
  constexpr std::uint64_t kField = (std::uint64_t{1} << 21U) - 1;
  const std::uint64_t bits = mixed(lane_key ^ action_key);
  const std::uint64_t sum = (bits & kField) + ((bits >> 21U) & kField) + ((bits >> 42U) & kField);
  return static_cast<std::int64_t>(2 * sum) - static_cast<std::int64_t>(3 * kField);
}

// A duration and its spread in nanoseconds -> that duration in one lane, to the nearest nanosecond.
// The spread is multiplied in two parts, since 64 bits do not hold the product.
constexpr std::int64_t jittered(std::int64_t duration, std::int64_t spread, std::int64_t sample) {
  constexpr std::int64_t kLow = (std::int64_t{1} << 21U) - 1, kHalf = std::int64_t{1} << 20U;
  const std::int64_t deviation =
      (spread >> 21U) * sample + (((spread & kLow) * sample + kHalf) >> 21U);
  return std::max<std::int64_t>(0, duration + deviation);
}

// The spreads of the prices as durations, so that a table of them can be looked up alike.
StagePrices spreads_of(const StagePrices& prices);
// Whether some price has a spread: without one jitter changes nothing.
bool has_spreads(const StagePrices& prices);

// The prices with an assumed spread where they have none: `share` of the duration.
StagePrices with_assumed_spreads(StagePrices prices, Factor share);

// Every action's duration in one lane, by the definition: what engines that take durations carry
// out, and what the lanes of replay_jittered() must equal.
ActionDurations jittered_durations(const Program& program, const StagePrices& prices,
                                   const ExecutorModel& executor, std::uint64_t seed,
                                   std::uint64_t lane);

}  // namespace penstock
