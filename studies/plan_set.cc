#include "studies/plan_set.h"

#include <cstddef>
#include <cstdint>
#include <set>

#include <fmt/format.h>

namespace penstock {
namespace {

constexpr int kMostSizes = 64;

// The first number of GPUs on which something fits; 0 when nothing does on any.
int first_size(const SearchResult& found, const std::vector<int>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (found.fastest_within[i]) return sizes[i];
  }
  return 0;
}

StaircaseStep step_of(int gpus, const RankedPlan* plan, int first) {
  StaircaseStep step;
  step.gpus = gpus;
  if (plan != nullptr) {
    step.plan = plan->plan;
    step.evaluation = plan->evaluation;
  } else if (first > 0) {
    step.why_not = fmt::format("nothing fits on fewer than {} GPUs", first);
  } else {
    step.why_not = "nothing fits";
  }
  return step;
}

}  // namespace

std::vector<int> plan_set_sizes(int gpus) {
  std::set<int> sizes;
  if (gpus > kMostSizes) {
    for (std::int64_t power = 1; power < gpus; power *= 2) sizes.insert(static_cast<int>(power));
  }
  // Evenly spread ones fill up what is left; where one is there already, so be it.
  const auto left = static_cast<std::int64_t>(kMostSizes) - std::ssize(sizes);
  const std::int64_t count = gpus > kMostSizes ? left : gpus;
  for (std::int64_t i = 1; i <= count; ++i) sizes.insert(static_cast<int>(gpus * i / count));
  return {sizes.begin(), sizes.end()};
}

PlanSet plan_set(const Question& question, const SearchResult& result,
                 const std::vector<int>& sizes, SearchProgress& progress) {
  PlanSet set;
  if (sizes.empty()) return set;
  SearchRequest request = question.request;
  request.sizes = sizes;
  request.gpus = sizes.back();
  request.top = 1;
  const SearchResult found = best_plans(question.inputs(), request, progress);
  set.complete = found.complete;
  if (!found.complete) return set;
  const int first = first_size(found, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const RankedPlan* best = found.fastest_within[i] ? &*found.fastest_within[i] : nullptr;
    for (const RankedPlan& ranked : result.best) {
      const bool fits = ranked.plan.devices() <= sizes[i];
      const bool faster =
          best == nullptr || ranked.evaluation.step_time < best->evaluation.step_time;
      if (fits && faster) best = &ranked;
    }
    StaircaseStep step = step_of(sizes[i], best, first);
    step.same_as_before = !set.steps.empty() && step.plan && set.steps.back().plan == step.plan;
    set.steps.push_back(std::move(step));
  }
  return set;
}

}  // namespace penstock
