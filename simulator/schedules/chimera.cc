#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

std::string why_not_shape(const ScheduleShape& shape) {
  const int p = shape.ranks, m = shape.micro_batches;
  if (p % 2 == 1) {
    return fmt::format("chimera: P = {} is odd, but the pipeline runs both ways; use {}", p,
                       p == 1 ? "2" : fmt::format("{} or {}", p - 1, p + 1));
  }
  if (m % p == 0) return "";
  const int lower = m - m % p;
  return fmt::format("chimera: M = {} is not a multiple of P = {}; use {}{}", m, p,
                     lower > 0 ? fmt::format("{} or ", lower) : "", lower + p);
}

struct SlottedAction {
  int slot;
  ActionKind kind;
  int stage, micro_batch;
};

// What rank `rank` does in one unit, P micro-batches half of which go each way, by slot (Chimera,
// arXiv 2107.06925: F and B take a slot each).
std::vector<SlottedAction> unit_of(const ScheduleShape& shape, int rank) {
  const int p = shape.ranks;
  std::vector<SlottedAction> unit;
  unit.reserve(2 * static_cast<std::size_t>(p));
  for (const int copy : {0, 1}) {
    const int stage = copy == 0 ? rank : p - 1 - rank;
    for (int m = 0; m < p / 2; ++m) {
      const int entry = copy * (shape.micro_batches / 2) + m;
      unit.push_back({stage + 2 * m, ActionKind::kForward, copy * p + stage, entry});
      unit.push_back(
          {2 * p - 1 - stage + 2 * m, ActionKind::kFusedBackward, copy * p + stage, entry});
    }
  }
  return unit;
}

// A unit starts every 2P slots, while the backwards of the one before still run: the list goes by
// windows of 2P slots, each with the early part of its unit and the late part of the unit before.
Schedule generate_schedule(const ScheduleShape& shape) {
  const int p = shape.ranks, units = shape.micro_batches / p;
  ListBuilder lists("chimera", shape, StageMap::kBidirectional);
  for (int rank = 0; rank < p; ++rank) {
    std::vector<SlottedAction> early, late;
    for (const SlottedAction& action : unit_of(shape, rank)) {
      (action.slot < 2 * p ? early : late).push_back(action);
    }
    const auto add_all = [&](std::vector<SlottedAction> actions) {
      std::sort(actions.begin(), actions.end(),
                [](const auto& a, const auto& b) { return a.slot < b.slot; });
      for (const auto& action : actions) lists.add(action.kind, action.stage, action.micro_batch);
    };
    add_all(early);
    std::vector<SlottedAction> window = early;
    for (SlottedAction& action : window) action.micro_batch += p / 2;
    for (const SlottedAction& action : late) {
      window.push_back({action.slot - 2 * p, action.kind, action.stage, action.micro_batch});
    }
    lists.repeat(units - 1, p / 2, [&] { add_all(window); });
    for (SlottedAction& action : late) action.micro_batch += (units - 1) * (p / 2);
    add_all(late);
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kChimera = {
    .name = "chimera",
    .summary =
        "1F1B from both ends in units of P micro-batches: half the bubble, two copies of the "
        "weights",
    .map = StageMap::kBidirectional,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .why_not = why_not_shape,
    .generate = generate_schedule,
};

}  // namespace penstock
