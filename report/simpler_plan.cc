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

// Which of T, C, EP, P and D the plan has.
std::array<bool, 5> kinds_in(const Plan& plan) {
  return {plan.tensor > 1, plan.context > 1, plan.expert > 1, plan.pipeline > 1, plan.data > 1};
}

// In the same order, what a plan without them is called.
constexpr std::array<const char*, 5> kWithout{"no tensor parallelism", "no context parallelism",
                                              "no expert parallelism", "no pipeline",
                                              "one replica"};

bool has_usual_schedule(const Plan& plan) {
  return plan.pipeline == 1 || plan.schedule == "1f1b" || plan.schedule == "interleaved" ||
         plan.schedule == "gpipe";
}

bool has_equal_replicas(const Plan& plan) {
  const auto& kinds = plan.replica_kinds;
  return plan.has_even_batch() && plan.global_batch % plan.data == 0 &&
         std::all_of(kinds.begin(), kinds.end(), [&](const ReplicaKind& kind) {
           return kind.samples == kinds.front().samples;
         });
}

std::array<bool, 4> special_ways(const Plan& plan) {
  return {!has_usual_schedule(plan), !plan.recompute_sections.empty(), !has_equal_replicas(plan),
          plan.is_mixed()};
}

template <std::size_t N>
int count_of_set(const std::array<bool, N>& flags) {
  return static_cast<int>(std::count(flags.begin(), flags.end(), true));
}

// None that the other has not.
template <std::size_t N>
bool is_within(const std::array<bool, N>& flags, const std::array<bool, N>& others) {
  return std::equal(flags.begin(), flags.end(), others.begin(),
                    [](bool flag, bool other) { return other || !flag; });
}

// Ascending: what is simpler comes first.
std::tuple<int, int, int> order_of(const Plan& plan) {
  return {plan.pipeline, count_of_set(kinds_in(plan)), count_of_set(special_ways(plan))};
}

bool is_simpler(const Plan& plan, const Plan& other) {
  return plan.pipeline <= other.pipeline && is_within(kinds_in(plan), kinds_in(other)) &&
         is_within(special_ways(plan), special_ways(other)) && order_of(plan) != order_of(other);
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
  if (plan.pipeline > 1 && plan.pipeline < first.pipeline) {
    words.push_back(fmt::format("PP {} instead of {}", plan.pipeline, first.pipeline));
  }
  const std::array<bool, 5> kinds = kinds_in(plan), of_first = kinds_in(first);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (of_first[i] && !kinds[i]) words.emplace_back(kWithout[i]);
  }
  if (plan.pipeline > 1 && has_usual_schedule(plan) && !has_usual_schedule(first)) {
    words.push_back("schedule " + plan.schedule);
  }
  if (plan.recompute_sections.empty() && !first.recompute_sections.empty()) {
    words.emplace_back("the same recompute in all stages");
  }
  if (has_equal_replicas(plan) && !has_equal_replicas(first)) {
    words.emplace_back("the same batch for all replicas");
  }
  if (!plan.is_mixed() && first.is_mixed()) words.emplace_back("one GPU type");
  return joined(words, ", ");
}

}  // namespace penstock
