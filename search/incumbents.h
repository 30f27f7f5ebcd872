// The best plans found so far: the K fastest, and the fastest within each of a few budgets of
// devices and memory (the Pareto front is drawn from them). Tells which candidates can still
// matter.
#pragma once

#include <optional>
#include <vector>

#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

// A replayed candidate, without the details.
struct Found {
  Plan plan;
  Duration step_time{};
  Bytes memory;  // of its fullest rank
};

// A total order: faster first; then fewer devices, less memory, and the plan's own numbers.
bool comes_before(const Found& a, const Found& b);

struct Budget {
  int devices = 0;
  Bytes memory;
};

class Incumbents {
 public:
  // `limit`: only what takes less is asked for.
  Incumbents(int top, std::vector<Budget> budgets, std::optional<Duration> limit = {});

  // Whether what no cuts make faster than `bound` is not asked for. Slower plans than the limit are
  // kept all the same: with better cuts, or as a place to begin, they may lead to one that is.
  [[nodiscard]] bool is_beyond_limit(Duration bound) const { return limit_ && bound >= *limit_; }
  // Whether a candidate whose step time is at least `bound` and whose memory is at least `memory`
  // could enter the K best or be the fastest of a budget.
  [[nodiscard]] bool may_matter(Duration bound, int devices, Bytes memory) const;
  // The largest bound that may; nothing when any does.
  [[nodiscard]] std::optional<Duration> slowest_that_matters(int devices, Bytes memory) const;
  // The most that such a candidate could hold and still matter.
  [[nodiscard]] Bytes most_memory_that_matters(Duration bound, int devices) const;
  void add(const Found& found);
  // The same for what costs more to work out than to list: only the fastest of all counts, and of
  // the first so many budgets.
  [[nodiscard]] bool may_lead(Duration bound, int devices, std::size_t budgets) const;
  // What it must be faster than for that: the slowest of them. Nothing when one is yet to be found.
  [[nodiscard]] std::optional<Duration> to_lead(int devices, std::size_t budgets) const;
  void add_if_it_leads(const Found& found, std::size_t budgets);

  [[nodiscard]] const std::vector<Found>& best() const { return best_; }
  // The fastest of every budget that has one; of several budgets once.
  [[nodiscard]] std::vector<Found> fastest_per_budget() const;

 private:
  std::size_t top_;
  std::vector<Found> best_;  // sorted, at most top_
  std::vector<Budget> budgets_;
  std::vector<std::optional<Found>> fastest_;  // by budget
  std::optional<Duration> limit_;
};

}  // namespace penstock
