// Many replays of one Program in one pass: the lanes differ in their prices, or in their jitter.
// Each lane equals the replay of its own, bit for bit, under every executor model; where the
// straight replay is not exact, the lanes are simulated one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "simulator/analyze.h"

namespace penstock {

// simulate_summary() for each of the prices. Error{kBadInput} as of simulate(), and when they do
// not have equally many shapes.
std::vector<TimelineSummary> replay_lanes(const Program& program,
                                          std::span<const StagePrices> prices,
                                          const ExecutorModel& executor);

// Lanes first_lane .. first_lane + lanes - 1 of the Program with jitter: every action takes its
// jittered_durations() (simulator/jitter.h). Error{kBadInput} as of simulate().
struct JitteredLanes {
  std::uint64_t seed = 1;
  std::uint64_t first_lane = 0;
  std::size_t lanes = 0;
};
std::vector<TimelineSummary> replay_jittered(const Program& program, const StagePrices& prices,
                                             const JitteredLanes& lanes,
                                             const ExecutorModel& executor);

}  // namespace penstock
