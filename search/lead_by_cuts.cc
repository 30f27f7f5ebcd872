// Contenders are taken in batches, each against the leaders that all before it left: so what a
// contender has to beat does not depend on the number of threads.
#include "search/lead_by_cuts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/values/recompute_sections.h"
#include "search/candidate_choices.h"
#include "search/group_division.h"
#include "search/improve_cuts.h"
#include "search/in_parallel.h"
#include "search/prepared_plan.h"

namespace penstock {
namespace {

constexpr std::size_t kImprovedAtOnce = 4;
// For as long as the squares of stages sum to no more than this: a replay takes that long.
constexpr std::int64_t kMostImproved = std::int64_t{1} << 15;
// One of few stages costs more than its replays. Of 18,723 contenders of 40 random questions on 8
// to 128 GPUs three led, by 0.1 to 0.3 %, none behind the 200th.
constexpr std::int64_t kLeastWork = kMostImproved / 256;
// Of those that are arranged, or have a run-time rule, the stages times the micro-batches.
constexpr std::int64_t kMostRearranged = std::int64_t{1} << 13;

// In a book a quarter of it: of 100 sections on 1 to 64 GPUs none led, and an eighth of the search
// was spent on two of them.
constexpr std::int64_t kMostRearrangedInBook = kMostRearranged / 4;

// Of a book so many contenders per number of GPUs: of GPT-6.7B on 1 to 64 GPUs, 600 contenders
// instead of two each made one page faster, by 0.024 %, and a third of the search was spent on
// them. With 100 sections two made no page of 1 to 64 GPUs faster than one.
constexpr int kMostPerSizeOfBook = 1;

// The fastest few under automatic schedules, each of at most so many stages times micro-batches;
// and contenders of a quarter of it in all.
constexpr std::int64_t kMostRearrangedAgain = std::int64_t{1} << 9;
constexpr std::size_t kRearrangedAgain = 4;

bool is_arranged(const Plan& plan) { return find_schedule(plan.schedule)->is_costly; }

// And without the numbers that go with them.
Plan without_cuts(Plan plan) {
  plan.cuts.clear();
  if (recompute_is_divided(plan)) plan.recompute_sections.assign(1, 0);
  return plan;
}

// What the work of a contender grows with.
std::int64_t work_of(const Plan& plan, std::int64_t each) { return plan.stages() * each; }
std::int64_t work_of(const Plan& plan) {
  return work_of(plan, is_arranged(plan) ? first_load(plan).micro_batches : plan.stages());
}

class CutBudgets {
 public:
  explicit CutBudgets(bool in_book)
      : rearranged_(in_book ? kMostRearrangedInBook : kMostRearranged) {}

  // Whether there is enough left of its budget, which it then takes.
  bool take(const Plan& plan) {
    std::int64_t& left = is_arranged(plan) ? rearranged_ : improved_;
    const std::int64_t work =
        is_arranged(plan) ? work_of(plan) : std::max(work_of(plan), kLeastWork);
    if (work > left) return false;
    left -= work;
    return true;
  }

 private:
  std::int64_t improved_ = kMostImproved, rearranged_;
};

CutBudget budget_of(const PlanInputs& inputs, const SearchRequest& request, const Plan& plan,
                    AskedToStop& asked_to_stop) {
  CutBudget budget;
  budget.asked_to_stop = &asked_to_stop;
  budget.recompute = recompute_rule(request);
  budget.trainer = request.trainer;
  budget.modes_to_divide = modes_to_divide(inputs, request, plan.device);
  return budget;
}

// `improved(i)`: the i-th of so many plans with better cuts, if it can run; in their order.
template <class Improved>
std::vector<Found> all_improved(const SearchRequest& request, std::size_t plans, Improved improved,
                                AskedToStop& asked_to_stop) {
  std::vector<std::optional<Found>> better(plans);
  in_parallel(request.threads, plans, [&](std::size_t i) {
    if (!asked_to_stop()) better[i] = improved(i);
  });
  std::vector<Found> found;
  for (auto& one : better) {
    if (one) found.push_back(std::move(*one));
  }
  return found;
}

// What beats none of `leaders` is given up early.
std::optional<Found> improved_to_lead(const PlanInputs& inputs, const SearchRequest& request,
                                      const Plan& plan, const Incumbents& leaders,
                                      AskedToStop& asked_to_stop) {
  CutBudget budget = budget_of(inputs, request, plan, asked_to_stop);
  budget.to_beat = leaders.to_lead(plan.devices(), request.sizes.size());
  if (request.faster_than) {  // a leader above the limit is not the one to be beaten
    budget.to_beat = std::min(budget.to_beat.value_or(Duration::max()), *request.faster_than);
  }
  return improve_cuts(inputs, plan, budget);
}

std::optional<Found> improved_within_its_memory(const PlanInputs& inputs,
                                                const SearchRequest& request, const Plan& plan,
                                                AskedToStop& asked_to_stop) {
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.why_not) return std::nullopt;
  CutBudget budget = budget_of(inputs, request, plan, asked_to_stop);
  budget.memory = evaluated.evaluation.peak_memory();
  return improve_cuts(inputs, plan, budget);
}

// Under every automatic schedule that may be searched and has the same placement.
void add_arranged(const SearchRequest& request, Plan plan, std::vector<Plan>& plans) {
  if (plan.pipeline < 2 || work_of(plan, first_load(plan).micro_batches) > kMostRearrangedAgain) {
    return;
  }
  if (recompute_is_divided(plan)) return;  // they recompute everywhere or nowhere
  // torchtitan would recompute twice under a divided backward; others have no such schedules.
  if (request.trainer != nullptr && plan.recompute != keeping(plan).recompute) return;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (!kind.is_costly || kind.rule != RunTimeRule::kNone || kind.map != plan.stage_map) continue;
    const bool has_chunks = plan.chunks >= kind.fewest_chunks &&
                            (kind.most_chunks == 0 || plan.chunks <= kind.most_chunks);
    if (!has_chunks || !is_enumerated(request, kind)) continue;
    plan.schedule = kind.name;
    if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
  }
}

}  // namespace

ImprovedPlans::ImprovedPlans(const std::vector<Found>& known) {
  for (const Found& found : known) add(found.plan);
}
void ImprovedPlans::add(const Plan& plan) { plans_.push_back(without_cuts(plan)); }
bool ImprovedPlans::contain(const Plan& plan) const {
  return std::find(plans_.begin(), plans_.end(), without_cuts(plan)) != plans_.end();
}

void lead_by_cuts(const PlanInputs& inputs, const SearchRequest& request, ImprovedPlans& improved,
                  const std::vector<Contender>& contenders, Incumbents& leaders,
                  AskedToStop& asked_to_stop) {
  CutBudgets budgets(request.sizes.size() > 1);
  std::map<int, int> taken;  // by GPUs
  const auto has_turn = [&](const Plan& plan) {
    return request.sizes.size() < 2 || taken[plan.devices()]++ < kMostPerSizeOfBook;
  };
  std::vector<Plan> batch;
  for (std::size_t next = 0; next < contenders.size() || !batch.empty();) {
    if (next < contenders.size()) {
      const Contender& one = contenders[next++];
      const bool leads = leaders.may_lead(one.bound, one.plan.devices(), request.sizes.size());
      if (!leads || improved.contain(one.plan) || !has_turn(one.plan)) continue;
      if (budgets.take(one.plan)) {
        batch.push_back(one.plan);
        improved.add(one.plan);
      }
    }
    if (batch.size() < kImprovedAtOnce && next < contenders.size()) continue;
    if (asked_to_stop()) return;
    const auto improved_one = [&](std::size_t i) {
      return improved_to_lead(inputs, request, batch[i], leaders, asked_to_stop);
    };
    for (const Found& better : all_improved(request, batch.size(), improved_one, asked_to_stop)) {
      leaders.add(better);
    }
    batch.clear();
  }
}

// All together: the last one of either kind alone would leave threads without work.
void lead_by_whole_searches(const PlanInputs& inputs, const SearchRequest& request,
                            const std::vector<Plan>& plans, const std::vector<Plan>& within,
                            Incumbents& leaders, AskedToStop& asked_to_stop) {
  if (asked_to_stop()) return;
  const auto improved_one = [&](std::size_t i) {
    if (i >= plans.size()) {
      return improved_within_its_memory(inputs, request, within[i - plans.size()], asked_to_stop);
    }
    return improve_cuts(inputs, plans[i], budget_of(inputs, request, plans[i], asked_to_stop));
  };
  const std::size_t all = plans.size() + within.size();
  for (const Found& better : all_improved(request, all, improved_one, asked_to_stop)) {
    leaders.add(better);
  }
}

void lead_arranged(const PlanInputs& inputs, const SearchRequest& request, std::vector<Found> known,
                   const std::vector<Contender>& contenders, Incumbents& leaders,
                   AskedToStop& asked_to_stop) {
  std::sort(known.begin(), known.end(), comes_before);
  known.resize(std::min(known.size(), kRearrangedAgain));
  std::vector<Plan> plans;
  for (const Found& one : known) add_arranged(request, one.plan, plans);
  std::int64_t left = kMostRearrangedAgain / 4;
  for (const Contender& one : contenders) {
    const ScheduleKind& kind = *find_schedule(one.plan.schedule);
    if (!kind.is_costly || kind.rule != RunTimeRule::kNone || work_of(one.plan) > left ||
        !leaders.may_lead(one.bound, one.plan.devices(), request.sizes.size())) {
      continue;
    }
    left -= work_of(one.plan);
    add_arranged(request, one.plan, plans);
  }
  lead_by_whole_searches(inputs, request, plans, {}, leaders, asked_to_stop);
}

}  // namespace penstock
