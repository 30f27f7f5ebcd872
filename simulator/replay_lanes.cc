#include "simulator/replay_lanes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/jitter.h"
#include "simulator/lane_program.h"
#include "simulator/price_table.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

// So many lanes go together, in plain arrays of fixed length.
constexpr std::size_t kWidth = 8;
using Lanes = std::array<std::int64_t, kWidth>;  // nanoseconds

// Preparing a Program takes as long as some replays of it: with fewer lanes it does not pay.
constexpr std::size_t kFewestLanes = 8;

// Without a comparison, which plain x86-64 has for no two integers of 64 bits at once: the shift
// makes a mask of the difference's sign. Times are at least 0, so the difference fits.
Lanes later(const Lanes& one, const Lanes& other) {
  Lanes result;
  for (std::size_t k = 0; k < kWidth; ++k) {
    const std::int64_t ahead = other[k] - one[k];
    result[k] = one[k] + (ahead & ~(ahead >> 63U));
  }
  return result;
}
Lanes sum(const Lanes& one, const Lanes& other) {
  Lanes result;
  for (std::size_t k = 0; k < kWidth; ++k) result[k] = one[k] + other[k];
  return result;
}

// Where the durations of one group of lanes come from: op i and overlap j of the LaneProgram.
class PricesOfLanes {
 public:
  // Of the lanes from `first` on; where they end, the last is repeated.
  PricesOfLanes(const std::vector<PriceTable>& lanes, std::size_t first)
      : table_(lanes[0].entries().size()) {
    for (std::size_t k = 0; k < kWidth; ++k) {
      const auto entries = lanes[std::min(first + k, lanes.size() - 1)].entries();
      for (std::size_t e = 0; e < table_.size(); ++e) table_[e][k] = entries[e].count();
    }
  }
  [[nodiscard]] const Lanes& of(std::size_t, const LaneProgram::Op& op) const {
    return table_[op.price];
  }
  [[nodiscard]] const Lanes& of(std::size_t, const LaneProgram::Overlap& second) const {
    return table_[second.price];
  }
  [[nodiscard]] const Lanes& gain(const LaneProgram::Overlap& second) const {
    return table_[second.gain];
  }

 private:
  std::vector<Lanes> table_;
};

// The prices of all lanes, and the keys of what deviates from them.
class JitteredPrices {
 public:
  JitteredPrices(const Program& program, const LaneProgram& lanes, const PriceTable& prices,
                 const PriceTable& spreads)
      : prices_(prices.entries()), spreads_(spreads.entries()) {
    op_keys_.reserve(lanes.ops.size());
    for (const auto& op : lanes.ops) op_keys_.push_back(jitter_key(program.actions[op.action]));
    second_keys_.reserve(lanes.overlaps.size());
    for (const auto& second : lanes.overlaps) {
      second_keys_.push_back(jitter_key(program.actions[second.action]));
    }
  }
  void choose(std::uint64_t seed, std::uint64_t first_lane) {
    for (std::size_t k = 0; k < kWidth; ++k) lane_keys_[k] = jitter_key(seed, first_lane + k);
  }
  [[nodiscard]] Lanes of(std::size_t i, const LaneProgram::Op& op) const {
    return sampled(op.price, op_keys_[i]);
  }
  [[nodiscard]] Lanes of(std::size_t j, const LaneProgram::Overlap& second) const {
    return sampled(second.price, second_keys_[j]);
  }
  [[nodiscard]] Lanes gain(const LaneProgram::Overlap& second) const {
    return alike(prices_[second.gain]);
  }

 private:
  static Lanes alike(Duration duration) {
    Lanes result;
    result.fill(duration.count());
    return result;
  }
  [[nodiscard]] Lanes sampled(std::uint32_t entry, std::uint64_t key) const {
    if (spreads_[entry] == Duration{}) return alike(prices_[entry]);
    const std::int64_t duration = prices_[entry].count(), spread = spreads_[entry].count();
    Lanes result;
    for (std::size_t k = 0; k < kWidth; ++k) {
      result[k] = jittered(duration, spread, jitter_sample(lane_keys_[k], key));
    }
    return result;
  }

  std::span<const Duration> prices_, spreads_;
  std::vector<std::uint64_t> op_keys_, second_keys_;
  std::array<std::uint64_t, kWidth> lane_keys_{};
};

// The pass over the ops, for one group of lanes at a time.
class LanePass {
 public:
  explicit LanePass(const LaneProgram& program)
      : program_(program), slots_(program.slots), ranks_(static_cast<std::size_t>(program.ranks)) {}

  template <class Prices>
  void run(const Prices& prices) {
    std::fill(ranks_.begin(), ranks_.end(), RankLanes{});
    auto second = program_.overlaps.begin();
    auto member = program_.members.begin();
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const LaneProgram::Op& op = program_.ops[i];
      Lanes& end = slots_[op.ends_in];
      switch (op.kind) {
        case LaneProgram::OpKind::kSend:
          end = sum(slots_[op.waits_for], prices.of(i, op));
          break;
        case LaneProgram::OpKind::kCompute:
          end = compute(op, slots_[op.waits_for], prices.of(i, op));
          break;
        case LaneProgram::OpKind::kOverlap: {
          const auto j = static_cast<std::size_t>(second - program_.overlaps.begin());
          const Lanes both =
              together(prices.of(i, op), prices.of(j, *second), prices.gain(*second));
          end = compute(op, later(slots_[op.waits_for], slots_[second->waits_for]), both);
          ++second;
          break;
        }
        case LaneProgram::OpKind::kCollective:
          end = sum(begin_of(member), prices.of(i, op));
          for (bool more = true; more; ++member) {
            RankLanes& rank = ranks_[member->rank];
            rank.last = later(rank.last, end);
            more = !member->last;
          }
          break;
      }
    }
  }

  [[nodiscard]] TimelineSummary summary(std::size_t lane) const {
    std::vector<SimTime> first, last;
    std::vector<Duration> busy;
    first.reserve(ranks_.size());
    last.reserve(ranks_.size());
    busy.reserve(ranks_.size());
    for (const RankLanes& rank : ranks_) {
      first.push_back(rank.computes ? SimTime{Duration{rank.first[lane]}} : SimTime::max());
      last.push_back(SimTime{Duration{std::max(rank.last[lane], rank.now[lane])}});
      busy.emplace_back(rank.busy[lane]);
    }
    return summarize_ranks(first, last, std::move(busy));
  }

 private:
  using Members = std::vector<LaneProgram::Member>::const_iterator;
  struct RankLanes {
    Lanes now{}, busy{}, first{}, last{};  // last: of its collectives
    bool computes = false;
  };

  Lanes compute(const LaneProgram::Op& op, const Lanes& ready, const Lanes& duration) {
    RankLanes& rank = ranks_[op.rank];
    const Lanes begin = later(ready, rank.now);
    if (op.first_of_rank) {
      rank.first = begin;
      rank.computes = true;
    }
    rank.busy = sum(rank.busy, duration);
    rank.now = sum(begin, duration);
    return rank.now;
  }
  static Lanes together(const Lanes& one, const Lanes& other, const Lanes& gain) {
    Lanes both;
    for (std::size_t k = 0; k < kWidth; ++k) {
      both[k] = std::max({one[k], other[k], one[k] + other[k] - gain[k]});
    }
    return both;
  }
  [[nodiscard]] Lanes begin_of(Members member) const {
    Lanes begin{};
    for (bool more = true; more; ++member) {
      begin = later(begin, later(slots_[member->waits_for], slots_[member->previous]));
      more = !member->last;
    }
    return begin;
  }

  const LaneProgram& program_;
  std::vector<Lanes> slots_;
  std::vector<RankLanes> ranks_;
};

void append_summaries(const LanePass& pass, std::size_t lanes,
                      std::vector<TimelineSummary>& summaries) {
  for (std::size_t k = 0; k < std::min(kWidth, lanes - summaries.size()); ++k) {
    summaries.push_back(pass.summary(k));
  }
}

std::optional<LaneProgram> lane_program_for(const Program& program, const PriceTable& table,
                                            const ExecutorModel& executor) {
  if (program.rule != RunTimeRule::kNone || !straight_replay_is_exact(executor)) {
    return std::nullopt;
  }
  return lane_program(program, table);
}

void refuse_different_shapes(std::span<const StagePrices> prices) {
  for (const StagePrices& lane : prices) {
    if (lane.shapes == prices[0].shapes) continue;
    throw_bad_input("prices: lanes of one replay need equally many shapes, found " +
                    std::to_string(prices[0].shapes) + " and " + std::to_string(lane.shapes));
  }
}

std::vector<TimelineSummary> one_by_one(const Program& program, std::span<const StagePrices> prices,
                                        const ExecutorModel& executor) {
  std::vector<TimelineSummary> summaries;
  summaries.reserve(prices.size());
  for (const StagePrices& lane : prices) {
    summaries.push_back(simulate_summary(program, lane, executor));
  }
  return summaries;
}

std::vector<TimelineSummary> one_by_one(const Program& program, const StagePrices& prices,
                                        const JitteredLanes& lanes, const ExecutorModel& executor) {
  EventSimulation simulation(program, executor);
  std::vector<TimelineSummary> summaries;
  summaries.reserve(lanes.lanes);
  for (std::size_t k = 0; k < lanes.lanes; ++k) {
    const ActionDurations durations =
        jittered_durations(program, prices, executor, lanes.seed, lanes.first_lane + k);
    summaries.push_back(summarize(program, simulation.run(durations)));
  }
  return summaries;
}

}  // namespace

std::vector<TimelineSummary> replay_lanes(const Program& program,
                                          std::span<const StagePrices> prices,
                                          const ExecutorModel& executor) {
  if (prices.empty()) return {};
  refuse_different_shapes(prices);
  if (prices.size() < kFewestLanes) return one_by_one(program, prices, executor);
  std::vector<PriceTable> tables;
  tables.reserve(prices.size());
  for (const StagePrices& lane : prices) tables.emplace_back(program, lane, executor);
  const auto prepared = lane_program_for(program, tables[0], executor);
  if (!prepared) return one_by_one(program, prices, executor);
  std::vector<TimelineSummary> summaries;
  summaries.reserve(prices.size());
  LanePass pass(*prepared);
  while (summaries.size() < prices.size()) {
    pass.run(PricesOfLanes(tables, summaries.size()));
    append_summaries(pass, prices.size(), summaries);
  }
  return summaries;
}

std::vector<TimelineSummary> replay_jittered(const Program& program, const StagePrices& prices,
                                             const JitteredLanes& lanes,
                                             const ExecutorModel& executor) {
  const PriceTable table(program, prices, executor), spreads(program, spreads_of(prices), {});
  const auto prepared = lane_program_for(program, table, executor);
  if (!prepared) return one_by_one(program, prices, lanes, executor);
  std::vector<TimelineSummary> summaries;
  summaries.reserve(lanes.lanes);
  JitteredPrices samples(program, *prepared, table, spreads);
  LanePass pass(*prepared);
  while (summaries.size() < lanes.lanes) {
    samples.choose(lanes.seed, lanes.first_lane + summaries.size());
    pass.run(samples);
    append_summaries(pass, lanes.lanes, summaries);
  }
  return summaries;
}

}  // namespace penstock
