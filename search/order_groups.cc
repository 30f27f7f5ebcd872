// Groups come in the order of a bound that knows only work. With many numbers of GPUs that order
// puts those first that would be fast in a larger memory, so that each number's fastest plan comes
// late: of 100 sections on 1 to 64 GPUs, 2,357 plans were replayed, and a quarter as many in this
// order. It changes what is looked at first; what is found only where contenders for better cuts
// are so many that not all are kept (Contenders).
#include "search/order_groups.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "search/group_work.h"
#include "search/in_parallel.h"

namespace penstock {
namespace {

// Split backwards of one stage per rank stand for all: what they must hold is known without cuts.
const ScheduleKind& kind_to_ask(const std::vector<ScheduleChoice>& choices) {
  const auto splits = std::find_if(choices.begin(), choices.end(), [](const ScheduleChoice& one) {
    return one.kind->backward == BackwardKind::kSplit && !one.kind->recomputes;
  });
  return *(splits == choices.end() ? choices.front() : *splits).kind;
}

Duration least_by_memory(GroupWork& work) {
  if (!work.prices.why_not().empty()) return work.group.bound;
  const auto choices =
      schedule_choices(work.request, static_cast<int>(work.inputs.profile->sections.size()),
                       work.base.pipeline, work.group.chunks, work.key.splitting_may_pay);
  if (choices.empty()) return work.group.bound;
  const ScheduleKind& kind = kind_to_ask(choices);
  Plan plan = work.base;
  plan.schedule = kind.name;
  plan.chunks = kind.fewest_chunks;
  plan.stage_map = kind.map;
  return std::max({work.group.bound, work.bounds.before_cuts(plan), work.bounds.with_fill(plan)});
}

}  // namespace

void order_by_memory(const PlanInputs& inputs, const SearchRequest& request,
                     const Incumbents& incumbents, SearchShared& shared, SearchSpace& space) {
  const KnownPlans known{incumbents};
  std::vector<std::pair<Duration, std::size_t>> order(space.groups.size());
  in_parallel(request.threads, order.size(), [&](std::size_t i) {
    GroupWork work(inputs, request, space, space.groups[i], known, shared);
    order[i] = {least_by_memory(work), i};
  });
  std::sort(order.begin(), order.end());
  std::vector<CandidateGroup> groups;
  groups.reserve(order.size());
  for (const auto& one : order) groups.push_back(std::move(space.groups[one.second]));
  space.groups = std::move(groups);
}

}  // namespace penstock
