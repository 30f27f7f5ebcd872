// Threshold accepting (Dueck and Scheuer, J. Comput. Phys. 90, 1990): a change is kept when it is
// worse by no more than a slack that shrinks to nothing. Plain descent ends in the first dip, since
// two gangs that should both be smaller are each worse alone.
#include "multi/improve_gangs.h"

#include <algorithm>
#include <numeric>

#include "multi/seeded.h"

namespace penstock {
namespace {

constexpr std::int64_t kFirstSlack = 4;  // a quarter of the makespan

bool is_within(const ScheduleValue& found, const ScheduleValue& than, Duration slack) {
  return found.makespan <= than.makespan + slack &&
         found.late_seconds <= than.late_seconds + static_cast<double>(slack.count()) / 1e9;
}

void change_option(std::vector<GangChoice>& order, const std::vector<GangTask>& tasks,
                   const std::vector<std::optional<RunningGang>>& running, Seeded& random) {
  const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(order.size())));
  GangChoice& choice = order[at];
  const auto task = static_cast<std::size_t>(choice.task);
  const auto options = static_cast<std::int64_t>(tasks[task].options.size());
  const bool may_stay = !running.empty() && running[task].has_value();
  const std::int64_t drawn = random.below(options + (may_stay ? 1 : 0));
  choice.option = drawn == options ? kStays : static_cast<int>(drawn);
}

void change_order(std::vector<GangChoice>& order, Seeded& random) {
  const auto count = static_cast<std::int64_t>(order.size());
  const std::int64_t from = random.below(count), to = random.below(count);
  if (random.below(2) == 0) {
    std::swap(order[static_cast<std::size_t>(from)], order[static_cast<std::size_t>(to)]);
  } else if (from < to) {
    std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + to + 1);
  } else {
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
  }
}

}  // namespace

std::vector<GangChoice> improve_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                                      std::vector<GangChoice> order,
                                      const std::vector<std::optional<RunningGang>>& running,
                                      const GangSearch& search) {
  if (order.empty()) return order;
  Seeded random(search.seed);
  const std::int64_t gpus = std::accumulate(nodes.begin(), nodes.end(), 0);
  const std::int64_t work = gpus * static_cast<std::int64_t>(tasks.size());
  const std::int64_t tries = std::min<std::int64_t>(search.most_tries, search.most_work / work);
  const auto value = [&](const std::vector<GangChoice>& of) {
    return value_of(list_gangs(tasks, nodes, of, running), tasks);
  };
  std::vector<GangChoice> current = order;
  ScheduleValue best = value(order), here = best;
  const Duration first_slack = best.makespan / kFirstSlack;
  for (std::int64_t i = 0; i < tries; ++i) {
    std::vector<GangChoice> other = current;
    const std::int64_t move = random.below(4);
    if (move != 0) change_option(other, tasks, running, random);
    if (move != 1) change_order(other, random);
    const ScheduleValue found = value(other);
    if (!is_within(found, here, first_slack / tries * (tries - i))) continue;
    here = found;
    current = std::move(other);
    if (here.is_better_than(best)) {
      best = here;
      order = current;
    }
  }
  return order;
}

}  // namespace penstock
