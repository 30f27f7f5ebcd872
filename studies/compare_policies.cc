#include "studies/compare_policies.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "morphing/change_policy.h"
#include "morphing/goodput.h"
#include "studies/book_rungs.h"

namespace penstock {
namespace {

PolicyResult replayed(std::string name, const Availability& recording,
                      const std::vector<Rung>& rungs, const ChangeCosts& costs,
                      std::unique_ptr<ChangePolicy> policy) {
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  std::vector<PolicyStart> starts;
  starts.reserve(goodput.starts.size());
  for (const RungStart& start : goodput.starts) {
    starts.push_back({start.at, start.rung ? rungs[*start.rung].gpus : 0, start.broken});
  }
  return {std::move(name), goodput.steps, goodput.lost_steps, goodput.changes, goodput.restarting,
          goodput.waiting, true,          std::move(starts)};
}

// With which a job begins; none where it has devices of several types, whose D alone cannot change.
const Plan* first_plan(const PlanBook& book, const Availability& recording) {
  for (const AvailabilityChange& change : recording.changes) {
    const Plan* found = nullptr;
    for (const BookPage& page : book.pages) {
      if (page.gpus <= change.gpus && page.plan) found = &*page.plan;
    }
    if (found != nullptr) return found->is_mixed() || !found->has_even_batch() ? nullptr : found;
  }
  return nullptr;
}

// Whoever knows all losses also knows that D alone would have been the better choice, where a page
// of the book is slower than another page's plan with other replicas.
std::vector<Rung> both(std::vector<Rung> some, const std::vector<Rung>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return useful_rungs(std::move(some));
}

}  // namespace

int most_gpus(const PlanBook& book) { return book.pages.empty() ? 0 : book.pages.back().gpus; }

std::vector<PolicyResult> compare_policies(const PlanBook& book, const Availability& recording,
                                           const ChangeCosts& costs) {
  std::vector<PolicyResult> results;
  const auto add = [&](std::string name, const std::vector<Rung>& of,
                       std::unique_ptr<ChangePolicy> policy) {
    results.push_back(replayed(std::move(name), recording, of, costs, std::move(policy)));
  };
  const std::vector<Rung> rungs = rungs_of(book);
  std::vector<Rung> all = rungs;
  add("penstock", rungs, expected_gain_policy(recording, rungs, costs));
  add("always the fastest", rungs, always_policy(rungs));
  add("never change", rungs, never_policy(rungs));
  if (const Plan* first = first_plan(book, recording)) {
    const std::vector<Rung> data_only = data_only_rungs(book, *first, most_gpus(book));
    all = both(std::move(all), data_only);
    add("DP only (Varuna)", data_only, always_policy(data_only));
  }
  add("restart all (torchrun)", rungs, restart_all_policy(rungs));
  const auto add_bound = [&](std::string name, double steps) {
    results.push_back({std::move(name), steps, 0.0, 0, {}, {}, false});
  };
  add_bound(kHindsight, most_steps(recording, all, costs));
  add_bound("free changes", steps_of_free_changes(recording, all));
  return results;
}

}  // namespace penstock
