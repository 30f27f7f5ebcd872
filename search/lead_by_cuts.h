// Better cuts for the candidates that these may bring to the front.
#pragma once

#include <vector>

#include "search/asked_to_stop.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/group_search.h"
#include "search/incumbents.h"

namespace penstock {

// Plans whose cuts were improved, each with any cuts.
class ImprovedPlans {
 public:
  ImprovedPlans() = default;
  explicit ImprovedPlans(const std::vector<Found>& known);
  void add(const Plan& plan);
  [[nodiscard]] bool contain(const Plan& plan) const;

 private:
  std::vector<Plan> plans_;
};

// `contenders` are sorted, the most promising ones first: they are tried in this order, within a
// budget of work for static schedules and one for arranged ones, until no other may lead. What
// better cuts find is added to `leaders`; those of `improved` got better cuts before, and those
// that are tried here are added to them. Ends early where it is asked to. The same for any number
// of threads.
void lead_by_cuts(const PlanInputs& inputs, const SearchRequest& request, ImprovedPlans& improved,
                  const std::vector<Contender>& contenders, Incumbents& leaders,
                  AskedToStop& asked_to_stop);

// A whole search for better cuts for each of `plans`, which gives nothing up early; and one for
// each of `within` by cuts that need no more memory than its own: so the fastest plan within a
// budget of memory is improved, and what is found that way may differ.
void lead_by_whole_searches(const PlanInputs& inputs, const SearchRequest& request,
                            const std::vector<Plan>& plans, const std::vector<Plan>& within,
                            Incumbents& leaders, AskedToStop& asked_to_stop);

// The few fastest of `known` under automatic schedules, and the first few contenders that have one,
// with as many tries as a plan that is kept gets: cuts that are good in one placement are good for
// all schedules there, and with cuts of its own such a schedule may look far behind. `contenders`
// are sorted.
void lead_arranged(const PlanInputs& inputs, const SearchRequest& request, std::vector<Found> known,
                   const std::vector<Contender>& contenders, Incumbents& leaders,
                   AskedToStop& asked_to_stop);

}  // namespace penstock
