// Sorts the actions of every rank by start, then end, then stored order. Times are integers and
// there may be millions of them, so the sort goes digit by digit (radix sort, stable) instead of
// comparing. Where only the stash is asked for, no sort is needed: a rule moves forwards before
// backwards but neither kind among its own, so the order of a rank is two sorted lists merged
// (peak_stash()).
#include "simulator/events/executed_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

#include "simulator/liveness.h"

namespace penstock {
namespace {

// Sorts by keys that are not negative, without changing the order of equal ones: digit by digit,
// since comparing millions of actions takes longer than running them.
void sort_by(const std::vector<std::int64_t>& keys, std::vector<std::uint32_t>& order) {
  constexpr int kDigit = 11;
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigit;
  std::uint64_t most = 0;
  for (const std::int64_t key : keys) most = std::max(most, static_cast<std::uint64_t>(key));
  std::vector<std::uint32_t> sorted(order.size());
  for (int shift = 0; shift < 64 && most >> static_cast<unsigned>(shift) > 0; shift += kDigit) {
    const auto digit_of = [&](std::uint32_t i) {
      return static_cast<std::uint64_t>(keys[i]) >> static_cast<unsigned>(shift) & (kDigits - 1);
    };
    std::array<std::uint32_t, kDigits + 1> place{};
    for (const std::uint32_t i : order) ++place[digit_of(i) + 1];
    for (std::size_t digit = 1; digit < place.size(); ++digit) place[digit] += place[digit - 1];
    for (const std::uint32_t i : order) sorted[place[digit_of(i)]++] = i;
    order.swap(sorted);
  }
}

// By start, then end, then stored order: what takes no time comes before what starts with it.
std::vector<std::uint32_t> by_start(const Timeline& timeline) {
  std::vector<std::uint32_t> order(timeline.start.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::int64_t> starts;
  starts.reserve(order.size());
  for (const SimTime start : timeline.start) starts.push_back(start.time_since_epoch().count());
  sort_by(starts, order);
  for (std::size_t first = 0, end = 1; first < order.size(); first = end++) {
    while (end < order.size() && starts[order[end]] == starts[order[first]]) ++end;
    if (end - first < 2) continue;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(first),
              order.begin() + static_cast<std::ptrdiff_t>(end),
              [&](std::uint32_t a, std::uint32_t b) {
                return std::pair(timeline.end[a], a) < std::pair(timeline.end[b], b);
              });
  }
  return order;
}

}  // namespace

ExecutedProgram as_executed(const Program& program, const Timeline& timeline) {
  const std::vector<std::uint32_t> order = by_start(timeline);
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;

  ExecutedProgram executed{program, timeline};
  executed.program.rule = RunTimeRule::kNone;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    Action action = program.actions[order[i]];
    if (action.waits_for != kWaitsForNothing) {
      const bool began_before = timeline.start[order[i]] < timeline.end[action.waits_for];
      action.waits_for = began_before ? kWaitsForNothing : place[action.waits_for];
    }
    executed.program.actions[i] = action;
    executed.timeline.start[i] = timeline.start[order[i]];
    executed.timeline.end[i] = timeline.end[order[i]];
  }
  executed.program.more_waits.clear();
  for (const Wait& wait : program.more_waits) {
    if (timeline.start[wait.action] < timeline.end[wait.needs]) continue;
    executed.program.more_waits.push_back({place[wait.action], place[wait.needs], wait.listed});
  }
  sort_waits(executed.program.more_waits);
  return executed;
}

namespace {

// The compute actions of every rank as they ran. A rule moves forwards before others but neither
// kind among its own, so the order is that of two lists merged.
std::vector<std::vector<std::uint32_t>> computes_as_executed(const Program& program,
                                                             const Timeline& timeline) {
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(timeline.start[a], timeline.end[a], a) <
           std::tuple(timeline.start[b], timeline.end[b], b);
  };
  const auto ranks = static_cast<std::size_t>(program.ranks());
  std::vector<std::vector<std::uint32_t>> forwards(ranks), others(ranks), order(ranks);
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    if (!is_compute(action.kind)) continue;
    auto& lists = action.kind == ActionKind::kForward ? forwards : others;
    lists[static_cast<std::size_t>(program.rank_of(action).value)].push_back(i);
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    order[r].resize(forwards[r].size() + others[r].size());
    std::merge(forwards[r].begin(), forwards[r].end(), others[r].begin(), others[r].end(),
               order[r].begin(), earlier);
    if (!std::is_sorted(order[r].begin(), order[r].end(), earlier)) {
      std::sort(order[r].begin(), order[r].end(), earlier);
    }
  }
  return order;
}

}  // namespace

std::vector<std::int64_t> peak_stash(const Program& program, const Timeline& timeline) {
  Program executed;  // of compute only, rank by rank: that is all that it depends on
  executed.pipelines = program.pipelines;
  executed.stages = program.stages;
  for (const auto& list : computes_as_executed(program, timeline)) {
    for (const std::uint32_t i : list) {
      Action action = program.actions[i];
      action.waits_for = kWaitsForNothing;
      action.overlaps_next = false;
      executed.actions.push_back(action);
    }
  }
  std::vector<std::int64_t> peaks;
  for (const RankLiveness& rank : liveness(executed)) peaks.push_back(rank.peak_chunks);
  return peaks;
}

}  // namespace penstock
