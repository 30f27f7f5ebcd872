#include "search/ranked_plans.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "search/in_parallel.h"

namespace penstock {
namespace {

std::string placement_words(const EvaluatedPlan& evaluated, const ClusterSpec& cluster) {
  const Plan& plan = evaluated.plan;
  if (plan.devices() == 1) return "one GPU";
  if (plan.pipeline == 1) return "every DP rank holds the whole model";
  const bool inner = plan.placement == Placement::kPipelineInner;
  std::string words = plan.data == 1 ? "one pipeline"
                      : inner        ? "PP ranks are next to each other"
                                     : "DP ranks are next to each other";
  const auto outermost =
      std::max_element(evaluated.boundary_level.begin(), evaluated.boundary_level.end());
  if (outermost != evaluated.boundary_level.end() && *outermost >= 0) {
    const auto crossing =
        std::count(evaluated.boundary_level.begin(), evaluated.boundary_level.end(), *outermost);
    const auto all = static_cast<std::ptrdiff_t>(evaluated.boundary_level.size());
    const std::string& level = cluster.levels[static_cast<std::size_t>(*outermost)].name;
    words += "; " + (crossing == all ? "all " : std::to_string(crossing) + " of ") +
             std::to_string(all) + " pipeline transfers " +
             (level.starts_with("between ") ? "go " : "use ") + level;
  }
  return words;
}

}  // namespace

std::vector<RankedPlan> ranked_plans(const PlanInputs& inputs, const std::vector<Found>& found,
                                     int threads) {
  std::vector<RankedPlan> plans(found.size());
  in_parallel(threads, found.size(), [&](std::size_t i) {
    EvaluatedPlan evaluated = evaluate(inputs, found[i].plan);
    // What was found was replayed: an answer of 0 ns would be the fastest of all.
    if (evaluated.why_not && evaluated.evaluation.ranks.empty()) {
      throw Error(ErrorKind::kInternal,
                  "a plan that was found cannot run: " + evaluated.why_not->reason);
    }
    plans[i].placed = placement_words(evaluated, *inputs.cluster);
    plans[i].plan = std::move(evaluated.plan);
    plans[i].evaluation = std::move(evaluated.evaluation);
  });
  return plans;
}

void sort_by_step_time(std::vector<RankedPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(), [](const RankedPlan& a, const RankedPlan& b) {
    return a.evaluation.step_time < b.evaluation.step_time;
  });
}

std::vector<RankedPlan> pareto_front(const std::vector<RankedPlan>& plans) {
  // Device-time stands for the price unless every plan has one.
  const bool priced = std::all_of(plans.begin(), plans.end(), [](const RankedPlan& p) {
    return p.evaluation.usd_per_step > 0;
  });
  const auto price = [priced](const RankedPlan& p) {
    return priced ? p.evaluation.usd_per_step
                  : static_cast<double>(p.evaluation.step_time.count()) * p.plan.devices();
  };
  const auto beats = [&](const RankedPlan& a, const RankedPlan& b) {
    const bool no_worse = a.evaluation.step_time <= b.evaluation.step_time &&
                          a.evaluation.peak_memory() <= b.evaluation.peak_memory() &&
                          price(a) <= price(b);
    const bool better = a.evaluation.step_time < b.evaluation.step_time ||
                        a.evaluation.peak_memory() < b.evaluation.peak_memory() ||
                        price(a) < price(b);
    return no_worse && better;
  };
  std::vector<RankedPlan> front;
  for (const RankedPlan& plan : plans) {
    if (std::none_of(plans.begin(), plans.end(),
                     [&](const auto& other) { return beats(other, plan); })) {
      front.push_back(plan);
      front.back().on_pareto_front = true;
    }
  }
  return front;
}

}  // namespace penstock
