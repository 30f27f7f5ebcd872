#include "report/simpler_plan.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "report/words.h"

namespace penstock {
namespace {

// A choice: picks of `plan` lay up to so much behind the best of ten measured plans, errors of the
// prediction included (docs/accuracy.md), so that less says nothing of which is faster.
constexpr int kAlikePercent = 2;

int kinds_of(const Plan& plan) {
  const std::array degrees{plan.tensor, plan.context, plan.expert, plan.pipeline, plan.data};
  return static_cast<int>(
      std::count_if(degrees.begin(), degrees.end(), [](int d) { return d > 1; }));
}

bool has_usual_schedule(const Plan& plan) {
  return plan.pipeline == 1 || plan.schedule == "1f1b" || plan.schedule == "interleaved" ||
         plan.schedule == "gpipe";
}

bool has_equal_replicas(const Plan& plan) {
  return plan.has_even_batch() && plan.global_batch % (plan.data * plan.micro_batch_size) == 0;
}

int special_ways(const Plan& plan) {
  return (has_usual_schedule(plan) ? 0 : 1) + (plan.recompute_sections.empty() ? 0 : 1) +
         (has_equal_replicas(plan) ? 0 : 1);
}

// Ascending: what is simpler comes first.
std::tuple<int, int, int> order_of(const Plan& plan) {
  return {plan.pipeline, kinds_of(plan), special_ways(plan)};
}

bool is_simpler(const Plan& plan, const Plan& other) {
  return plan.pipeline <= other.pipeline && kinds_of(plan) <= kinds_of(other) &&
         special_ways(plan) <= special_ways(other) && order_of(plan) != order_of(other);
}

}  // namespace

std::optional<std::size_t> simpler_plan(const std::vector<RankedPlan>& plans) {
  std::optional<std::size_t> best;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const Duration first = plans.front().evaluation.step_time;
    if (100 * (plans[i].evaluation.step_time - first) > kAlikePercent * first) break;
    if (!is_simpler(plans[i].plan, plans.front().plan)) continue;
    if (!best || order_of(plans[i].plan) < order_of(plans[*best].plan)) best = i;
  }
  return best;
}

std::string simpler_in(const Plan& plan, const Plan& first) {
  std::vector<std::string> words;
  if (plan.pipeline < first.pipeline) {
    words.push_back(fmt::format("PP {} for {}", plan.pipeline, first.pipeline));
  }
  if (const int kinds = kinds_of(plan); kinds < kinds_of(first)) {
    words.push_back(fmt::format("{} kinds of parallelism for {}", kinds, kinds_of(first)));
  }
  if (has_usual_schedule(plan) && !has_usual_schedule(first)) {
    words.push_back(plan.pipeline == 1 ? "no schedule" : plan.schedule);
  }
  if (plan.recompute_sections.empty() && !first.recompute_sections.empty()) {
    words.emplace_back("recompute alike in all stages");
  }
  if (has_equal_replicas(plan) && !has_equal_replicas(first)) {
    words.emplace_back("as many samples on every replica");
  }
  return joined(words, ", ");
}

}  // namespace penstock
