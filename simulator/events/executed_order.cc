#include "simulator/events/executed_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>

#include "simulator/liveness.h"

namespace penstock {
namespace {

// By start, then end, then stored order: what takes no time comes before what starts with it.
std::vector<std::uint32_t> by_start(const Timeline& timeline) {
  std::vector<std::uint32_t> order(timeline.start.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(timeline.start[a], timeline.end[a], a) <
           std::tuple(timeline.start[b], timeline.end[b], b);
  });
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
  return executed;
}

std::vector<std::int64_t> peak_stash(const Program& program, const Timeline& timeline) {
  const std::vector<RankLiveness> ranks = liveness(as_executed(program, timeline).program);
  std::vector<std::int64_t> peaks;
  peaks.reserve(ranks.size());
  for (const RankLiveness& rank : ranks) peaks.push_back(rank.peak_chunks);
  return peaks;
}

}  // namespace penstock
