// The contenders of a whole search are too many: the list of them is cut off, and the budget for
// better cuts ends before most have had a turn. A question that pins the winner's own values has
// few, and all of them have one. So the winner's family is enumerated as that question would, and
// what may lead in it has its turn here.
#include "search/lead_in_family.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/recompute_sections.h"
#include "search/candidates.h"
#include "search/group_search.h"
#include "search/stopped_as_another.h"

namespace penstock {
namespace {

// A family's plan may bring another family to the front, and so on: no more often than this.
constexpr int kMostFamilies = 4;
// So many of a family have a whole search for better cuts, as the best plans of its question have.
constexpr std::size_t kMostWhole = 4;
// Under an automatic schedule of no more stages times micro-batches than this the whole question is
// asked that pins the family: its cuts come from rivals, and few of them are tried.
constexpr std::int64_t kMostWorkedOut = std::int64_t{1} << 10;

bool are_alike_but_for_recompute(const Plan& a, const Plan& b) {
  const auto key = [](const Plan& p) {
    return std::tie(p.device, p.rank_devices, p.schedule, p.pipeline, p.data, p.tensor,
                    p.micro_batch_size);
  };
  return key(a) == key(b) && a.other_degrees() == b.other_degrees();
}

// All but the schedule: one that is named would be worked out at once where it is costly.
SearchRequest pinned_to(const Plan& plan, SearchRequest request) {
  Pins& pins = request.pins;
  pins.device = plan.device;
  pins.pipeline = plan.pipeline;
  pins.data = plan.data;
  pins.tensor = plan.tensor;
  pins.micro_batch_size = plan.micro_batch_size;
  pins.context = plan.context;
  pins.expert = plan.expert;
  pins.recompute = plan.recompute;
  pins.recompute_as_needed = recompute_is_divided(plan);
  return request;
}

// The most promising ones first. What turns out to be faster as it is leads at once.
std::vector<Contender> contenders_of_family(const PlanInputs& inputs, const SearchRequest& request,
                                            const Plan& leader, Incumbents& leaders,
                                            AskedToStop& asked_to_stop) {
  SearchShared shared(inputs.executor);
  SearchSpace space = enumerate(inputs, request);
  std::vector<Contender> contenders;
  const auto search_groups = [&] {
    for (const CandidateGroup& group : space.groups) {
      if (asked_to_stop()) return;
      GroupResult result = search_group(inputs, request, space, group, KnownPlans{leaders}, shared);
      for (const Found& found : result.found) leaders.add(found);
      std::move(result.contenders.begin(), result.contenders.end(), std::back_inserter(contenders));
    }
  };
  search_groups();
  space = with_more_chunks(inputs, request, std::move(space), leaders);
  search_groups();
  std::erase_if(contenders, [&](const Contender& one) {
    return !are_alike_but_for_recompute(one.plan, leader);
  });
  std::stable_sort(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.step_time < b.step_time; });
  return contenders;
}

bool is_leader_before_cuts(const Plan& plan, const Plan& leader) {
  ImprovedPlans leads;
  leads.add(leader);
  return leads.contain(plan);
}

// The leader, as it was before better cuts, and the most promising ones; `whole` had such a search.
std::vector<Plan> first_of(const std::vector<Contender>& contenders, const Plan& leader,
                           ImprovedPlans& whole) {
  std::vector<Plan> first;
  for (const bool is_leader : {true, false}) {
    for (const Contender& one : contenders) {
      if (first.size() == kMostWhole || (is_leader && !is_leader_before_cuts(one.plan, leader)) ||
          whole.contain(one.plan)) {
        continue;
      }
      first.push_back(one.plan);
      whole.add(one.plan);
    }
  }
  return first;
}

bool is_small_and_automatic(const Plan& plan) {
  return find_schedule(plan.schedule)->is_automatic() &&
         std::int64_t{plan.stages()} * first_load(plan).micro_batches <= kMostWorkedOut;
}

bool pin_the_same(const Pins& a, const Pins& b) {
  const auto key = [](const Pins& p) {
    return std::tie(p.device, p.schedules, p.pipeline, p.data, p.tensor, p.micro_batch_size,
                    p.context, p.expert, p.recompute, p.recompute_as_needed);
  };
  return key(a) == key(b);
}

// What the question finds that pins the leader's own values, unless that is the one at hand.
void lead_by_pins(const PlanInputs& inputs, const SearchRequest& request, SearchRequest pinned,
                  const Plan& leader, Incumbents& leaders, AskedToStop& asked_to_stop) {
  pinned.pins.schedules = {leader.schedule};
  if (pin_the_same(pinned.pins, request.pins)) return;
  pinned.top = 1;
  // With the limit it would not keep the fastest within budgets of memory, whose cuts may be what
  // leads below it: one of 60 winners of larger random models was lost.
  pinned.faster_than.reset();
  for (const Found& best : found_by_another(inputs, pinned, asked_to_stop)) leaders.add(best);
}

}  // namespace

bool are_of_one_family(const Plan& a, const Plan& b) {
  return are_alike_but_for_recompute(a, b) && a.recompute == b.recompute &&
         recompute_is_divided(a) == recompute_is_divided(b);
}

void lead_in_family(const PlanInputs& inputs, const SearchRequest& request,
                    const ImprovedPlans& known, ImprovedPlans& improved, Incumbents& leaders,
                    AskedToStop& asked_to_stop) {
  ImprovedPlans whole = known;
  for (int families = 0; families < kMostFamilies && !leaders.best().empty(); ++families) {
    const Plan leader = leaders.best().front().plan;
    if (leader.pipeline < 2 || leader.is_mixed() || asked_to_stop()) return;
    const SearchRequest pinned = pinned_to(leader, request);
    if (is_small_and_automatic(leader)) {
      lead_by_pins(inputs, request, pinned, leader, leaders, asked_to_stop);
    } else {
      const std::vector<Contender> contenders =
          contenders_of_family(inputs, pinned, leader, leaders, asked_to_stop);
      std::vector<Plan> within;
      for (const Contender& one : contenders) {
        if (is_leader_before_cuts(one.plan, leader)) within.push_back(one.plan);
      }
      lead_by_whole_searches(inputs, pinned, first_of(contenders, leader, whole), within, leaders,
                             asked_to_stop);
      lead_by_cuts(inputs, pinned, improved, contenders, leaders, asked_to_stop);
    }
    if (are_of_one_family(leaders.best().front().plan, leader)) return;
  }
}

}  // namespace penstock
