// One pass reads the operations of a Program (lane_ops.h) once and replays them for groups of lanes
// side by side, so that the decoding is shared, and a group of kLaneWidth lanes suits vector
// instructions. Operations are the same for all lanes; only durations differ, and keys that deviate
// in a stretch are listed once for all lanes.
//
// Invariant: a lane is never influenced by its neighbours. The last group is filled up by repeating
// the last lane, whose results are written once more with the same value.
#include "simulator/replay_lanes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/values/error.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/jitter.h"
#include "simulator/lane_ops.h"
#include "simulator/lane_pass.h"
#include "simulator/price_table.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

// Reading the ops takes as long as some replays: with fewer lanes it does not pay.
constexpr std::size_t kFewestLanes = 4;
// So many groups share one reading; the clocks of more would leave the caches.
constexpr std::size_t kMostGroups = 32;

using Summaries = std::vector<TimelineSummary>;

// Where the durations of one group of lanes come from.
class PricesOfLanes {
 public:
  // Of the lanes from `first` on; where they end, the last is repeated.
  PricesOfLanes(const std::vector<PriceTable>& lanes, std::size_t first)
      : table_(lanes[0].entries().size()) {
    for (std::size_t k = 0; k < kLaneWidth; ++k) {
      const auto entries = lanes[std::min(first + k, lanes.size() - 1)].entries();
      for (std::size_t e = 0; e < table_.size(); ++e) table_[e][k] = entries[e].count();
    }
  }
  [[nodiscard]] const Lanes& of(std::size_t, const LaneOps::Op& op) const {
    return table_[op.price];
  }
  [[nodiscard]] const Lanes& of(std::size_t, const LaneOps::Overlap& second) const {
    return table_[second.price];
  }
  [[nodiscard]] const Lanes& gain(const LaneOps::Overlap& second) const {
    return table_[second.gain];
  }

 private:
  std::vector<Lanes> table_;
};

// The keys of what deviates in a stretch, the same for all lanes.
class StretchKeys {
 public:
  void read(const Program& program, const LaneOps& stretch) {
    ops_.clear();
    seconds_.clear();
    ops_.reserve(stretch.ops.size());
    seconds_.reserve(stretch.overlaps.size());
    for (const auto& op : stretch.ops) ops_.push_back(jitter_key(program.actions[op.action]));
    for (const auto& second : stretch.overlaps) {
      seconds_.push_back(jitter_key(program.actions[second.action]));
    }
  }
  [[nodiscard]] std::uint64_t of(std::size_t i, const LaneOps::Op&) const { return ops_[i]; }
  [[nodiscard]] std::uint64_t of(std::size_t j, const LaneOps::Overlap&) const {
    return seconds_[j];
  }

 private:
  std::vector<std::uint64_t> ops_, seconds_;
};

class JitteredPrices {
 public:
  JitteredPrices(const PriceTable& prices, const PriceTable& spreads, const StretchKeys& keys,
                 std::uint64_t seed, std::uint64_t first_lane)
      : prices_(prices.entries()), spreads_(spreads.entries()), keys_(keys) {
    for (std::size_t k = 0; k < kLaneWidth; ++k) lane_keys_[k] = jitter_key(seed, first_lane + k);
  }
  template <class Op>
  [[nodiscard]] Lanes of(std::size_t i, const Op& op) const {
    if (spreads_[op.price] == Duration{}) return alike(prices_[op.price]);
    const std::int64_t duration = prices_[op.price].count(), spread = spreads_[op.price].count();
    const std::uint64_t key = keys_.of(i, op);
    Lanes result;
    for (std::size_t k = 0; k < kLaneWidth; ++k) {
      result[k] = jittered(duration, spread, jitter_sample(lane_keys_[k], key));
    }
    return result;
  }
  [[nodiscard]] Lanes gain(const LaneOps::Overlap& second) const {
    return alike(prices_[second.gain]);
  }

 private:
  static Lanes alike(Duration duration) {
    Lanes result;
    result.fill(duration.count());
    return result;
  }
  std::span<const Duration> prices_, spreads_;
  const StretchKeys& keys_;
  std::array<std::uint64_t, kLaneWidth> lane_keys_{};
};

// All groups over one stretch, then over the next. `entered(stretch)` comes before each. False when
// stored order is none in which lanes can be replayed.
template <class Prices, class Entered>
[[nodiscard]] bool run(const Program& program, const PriceTable& table, HostLink link,
                       const std::vector<Prices>& groups, const Entered& entered,
                       std::vector<LanePass>& passes) {
  LaneOpsReader reader(program, table, link);
  LaneOps stretch;
  while (reader.next(stretch)) {
    entered(stretch);
    for (std::size_t g = 0; g < groups.size(); ++g) passes[g].run(stretch, groups[g]);
  }
  return reader.complete();
}

// Calls replay(first, groups, passes) for `lanes` lanes, as many groups at once as share a reading.
template <class Replay>
std::optional<Summaries> in_groups(const Program& program, std::size_t lanes,
                                   const Replay& replay) {
  Summaries summaries;
  summaries.reserve(lanes);
  while (summaries.size() < lanes) {
    const std::size_t left = (lanes - summaries.size() + kLaneWidth - 1) / kLaneWidth;
    std::vector<LanePass> passes(std::min(left, kMostGroups), LanePass(program.ranks()));
    if (!replay(summaries.size(), passes)) return std::nullopt;
    for (const LanePass& pass : passes) {
      const std::size_t of_pass = std::min(kLaneWidth, lanes - summaries.size());
      for (std::size_t k = 0; k < of_pass; ++k) summaries.push_back(pass.summary(k));
    }
  }
  return summaries;
}

bool can_replay(const Program& program, const ExecutorModel& executor) {
  return program.rule == RunTimeRule::kNone && straight_replay_is_exact(executor);
}

void refuse_different_shapes(std::span<const StagePrices> prices) {
  for (const StagePrices& lane : prices) {
    if (lane.shapes == prices[0].shapes) continue;
    throw_bad_input("prices: lanes of one replay need equally many shapes, found " +
                    std::to_string(prices[0].shapes) + " and " + std::to_string(lane.shapes));
  }
}

std::optional<Summaries> together(const Program& program, std::span<const StagePrices> prices,
                                  const ExecutorModel& executor) {
  std::vector<PriceTable> tables;
  tables.reserve(prices.size());
  for (const StagePrices& lane : prices) tables.emplace_back(program, lane, executor);
  const auto replay = [&](std::size_t first, std::vector<LanePass>& passes) {
    std::vector<PricesOfLanes> groups;
    groups.reserve(passes.size());
    for (std::size_t g = 0; g < passes.size(); ++g) {
      groups.emplace_back(tables, first + g * kLaneWidth);
    }
    return run(
        program, tables[0], executor.host_link, groups, [](const LaneOps&) {}, passes);
  };
  return in_groups(program, prices.size(), replay);
}

std::optional<Summaries> together(const Program& program, const StagePrices& prices,
                                  const JitteredLanes& lanes, const ExecutorModel& executor) {
  const PriceTable table(program, prices, executor), spreads(program, spreads_of(prices), {});
  const auto replay = [&](std::size_t first, std::vector<LanePass>& passes) {
    StretchKeys keys;
    std::vector<JitteredPrices> groups;
    groups.reserve(passes.size());
    for (std::size_t g = 0; g < passes.size(); ++g) {
      groups.emplace_back(table, spreads, keys, lanes.seed,
                          lanes.first_lane + first + g * kLaneWidth);
    }
    const auto entered = [&](const LaneOps& stretch) { keys.read(program, stretch); };
    return run(program, table, executor.host_link, groups, entered, passes);
  };
  return in_groups(program, lanes.lanes, replay);
}

Summaries one_by_one(const Program& program, std::span<const StagePrices> prices,
                     const ExecutorModel& executor) {
  Summaries summaries;
  summaries.reserve(prices.size());
  for (const StagePrices& lane : prices) {
    summaries.push_back(simulate_summary(program, lane, executor));
  }
  return summaries;
}

Summaries one_by_one(const Program& program, const StagePrices& prices, const JitteredLanes& lanes,
                     const ExecutorModel& executor) {
  EventSimulation simulation(program, executor);
  Summaries summaries;
  summaries.reserve(lanes.lanes);
  for (std::size_t k = 0; k < lanes.lanes; ++k) {
    const ActionDurations durations =
        jittered_durations(program, prices, executor, lanes.seed, lanes.first_lane + k);
    summaries.push_back(summarize(program, simulation.run(durations)));
  }
  return summaries;
}

}  // namespace

Summaries replay_lanes(const Program& program, std::span<const StagePrices> prices,
                       const ExecutorModel& executor) {
  refuse_different_shapes(prices);
  if (prices.size() >= kFewestLanes && can_replay(program, executor)) {
    if (auto summaries = together(program, prices, executor)) return *std::move(summaries);
  }
  return one_by_one(program, prices, executor);
}

Summaries replay_jittered(const Program& program, const StagePrices& prices,
                          const JitteredLanes& lanes, const ExecutorModel& executor) {
  if (can_replay(program, executor)) {
    if (auto summaries = together(program, prices, lanes, executor)) return *std::move(summaries);
  }
  return one_by_one(program, prices, lanes, executor);
}

}  // namespace penstock
