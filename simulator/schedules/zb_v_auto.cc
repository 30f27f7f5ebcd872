#include "simulator/schedules/zb_v_auto.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "simulator/schedules/automatic_input.h"
#include "simulator/schedules/kinds.h"
#include "simulator/schedules/limit_ladder.h"
#include "simulator/schedules/zb_v_heuristic.h"

namespace penstock {
namespace {

constexpr std::array<ZbVVariant, 4> kVariants = {
    {{true, true}, {true, false}, {false, true}, {false, false}}};

template <class T>
T largest(const std::vector<T>& values) {
  return *std::max_element(values.begin(), values.end());
}

// What covers every stage: between I and W a chunk holds at most the largest that any W frees.
EqualCosts covering(const StageCosts& costs) {
  EqualCosts equal{largest(costs.forward),
                   largest(costs.input_gradient),
                   largest(costs.weight_gradient),
                   std::max(largest(costs.activation), largest(costs.gradient)),
                   largest(costs.taken_by_forward),
                   0,
                   largest(costs.freed_by_weight_gradient)};
  equal.freed_by_input = equal.taken - equal.freed_by_weight;
  return equal;
}

Duration most_work(const StageCosts& costs, int micro_batches) {
  const std::size_t stages = costs.forward.size();
  Duration most{0};
  for (std::size_t s = 0; s < stages / 2; ++s) {
    Duration work{0};
    for (const std::size_t stage : {s, stages - 1 - s}) {
      work += costs.forward[stage] + costs.input_gradient[stage] + costs.weight_gradient[stage];
    }
    most = std::max(most, micro_batches * work);
  }
  return most;
}

std::string why_not(ZbVHeuristic& heuristic, const EqualCosts& equal, std::int64_t limit,
                    const std::vector<int>& rungs) {
  for (const int rung : rungs) {
    if (rung * equal.taken <= limit || !heuristic.run(kVariants[0], rung * equal.taken)) continue;
    return fmt::format(
        "a rank needs {} (the activations of {} chunks) for the V's pattern, and the smallest "
        "limit "
        "is {}: a limit of {} would do, or smaller micro-batches",
        rung * equal.taken, rung, limit, rung * equal.taken);
  }
  return "the V's pattern does not come out under any limit";
}

// The handcrafted ZB-V where it fits.
AutomaticLists handcrafted(const StageCosts& costs, int micro_batches) {
  ScheduleShape shape;
  shape.ranks = static_cast<int>(costs.limit.size());
  shape.chunks = 2;
  shape.micro_batches = micro_batches;
  const SplitLists lists = split_lists(kZbV.generate(shape));
  if (!fits(lists, costs)) return {{}, Duration::max(), ""};
  return {compute_actions(lists), length_of(lists, costs, costs.shortest), ""};
}

}  // namespace

AutomaticLists zb_v_auto(const StageCosts& costs, int micro_batches) {
  check_costs(costs, 2, micro_batches);
  const EqualCosts equal = covering(costs);
  const auto ranks = static_cast<int>(costs.limit.size());
  const std::int64_t limit = *std::min_element(costs.limit.begin(), costs.limit.end());
  const Duration least = most_work(costs, micro_batches);
  ZbVHeuristic heuristic(equal, ranks, micro_batches);
  const std::vector<int> rungs = sixteenths({ranks, 2 * ranks}, 2 * micro_batches);

  AutomaticLists best = handcrafted(costs, micro_batches);
  bool is_handcrafted = true;  // then it yields to the heuristic's lists of the same span
  constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  std::int64_t same_from = kUnbounded;  // from here on the runs went the same
  for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
    const std::int64_t under = *rung * equal.taken;
    if (under > limit || under >= same_from) continue;
    if (best.span == least && same_from < kUnbounded) break;
    same_from = 0;
    for (const ZbVVariant& variant : kVariants) {
      const bool found = heuristic.run(variant, under).has_value();
      same_from = std::max(same_from, heuristic.least_limit());
      if (!found) continue;
      const Duration span = length_of(heuristic.lists(), costs, costs.shortest);
      if (span > best.span || (span == best.span && !is_handcrafted)) continue;
      best = {compute_actions(heuristic.lists()), span, ""};
      is_handcrafted = false;
    }
  }
  if (best.lists.empty()) return {{}, {}, why_not(heuristic, equal, limit, rungs)};
  return best;
}

}  // namespace penstock
