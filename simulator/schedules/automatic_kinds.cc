#include <algorithm>

#include "simulator/schedules/automatic_input.h"
#include "simulator/schedules/kinds.h"
#include "simulator/schedules/zb_auto.h"
#include "simulator/schedules/zb_v_auto.h"

namespace penstock {
namespace {

ArrangedSchedule arranged(const ScheduleKind& kind, const ScheduleShape& shape,
                          const AutomaticLists& found) {
  if (!found.why_not.empty()) return {{}, found.why_not, false};
  if (found.is_beaten) return {{}, "", true};
  return {schedule_of_lists(std::string(kind.name), shape.micro_batches,
                            stage_ranks(kind.map, shape), found.lists),
          "", false};
}

// ZB-1p and ZB-2p are named after their limit, whatever the memory.
ArrangedSchedule published(const ScheduleKind& kind, const ScheduleShape& shape, StageCosts costs) {
  costs.limit = costs.taken_by_forward;
  check_costs(costs, 1, shape.micro_batches);
  for (std::int64_t& limit : costs.limit) limit *= kind.limit_in_ranks * shape.ranks;
  return arranged(kind, shape, zb_published(costs, shape.micro_batches));
}

ArrangedSchedule on_the_v(const ScheduleKind& kind, const ScheduleShape& shape, StageCosts costs) {
  if (costs.limit.empty()) {
    costs.limit.assign(static_cast<std::size_t>(shape.ranks), 0);
    check_costs(costs, 2, shape.micro_batches);
    const std::int64_t largest =
        *std::max_element(costs.taken_by_forward.begin(), costs.taken_by_forward.end());
    for (std::int64_t& limit : costs.limit) limit = 2 * shape.ranks * largest;
  }
  return arranged(kind, shape, zb_v_auto(costs, shape.micro_batches));
}

}  // namespace

const ScheduleKind kZb1p = {
    .name = "zb-1p",
    .summary = "automatic: I and W arranged by their costs, at most 1F1B's memory",
    .backward = BackwardKind::kSplit,
    .is_costly = true,
    .only_when_named = true,  // a case of zb-auto
    .limit_in_ranks = 1,
    .arrange = [](const ScheduleShape& shape,
                  const StageCosts& costs) { return published(kZb1p, shape, costs); },
};

const ScheduleKind kZb2p = {
    .name = "zb-2p",
    .summary = "the same with at most twice 1F1B's memory",
    .backward = BackwardKind::kSplit,
    .is_costly = true,
    .only_when_named = true,  // a case of zb-auto
    .limit_in_ranks = 2,
    .arrange = [](const ScheduleShape& shape,
                  const StageCosts& costs) { return published(kZb2p, shape, costs); },
};

const ScheduleKind kZbAuto = {
    .name = "zb-auto",
    .summary = "automatic: the shortest of many arrangements that fit a given --limit",
    .backward = BackwardKind::kSplit,
    .is_costly = true,
    .arrange =
        [](const ScheduleShape& shape, const StageCosts& costs) {
          return arranged(kZbAuto, shape, zb_auto(costs, shape.micro_batches));
        },
};

const ScheduleKind kZbVAuto = {
    .name = "zb-v-auto",
    .summary = "the V of zb-v, arranged by its costs; 1F1B's memory, or a given --limit",
    .backward = BackwardKind::kSplit,
    .map = StageMap::kV,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .is_costly = true,
    .arrange = [](const ScheduleShape& shape,
                  const StageCosts& costs) { return on_the_v(kZbVAuto, shape, costs); },
};

}  // namespace penstock
