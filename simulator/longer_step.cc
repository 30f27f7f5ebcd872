// In the lists every action must be as much later as the windows put in before it take. What ends
// the step may begin before the last phase is over, as the reduction of a chunk whose backwards
// are: such an action is later by what it waited for, and in a longer step waits for nothing else.
#include "simulator/longer_step.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "simulator/step_graph.h"

namespace penstock {

bool is_later(const ReplayedLists& of_a, std::uint32_t a, const ReplayedLists& of_b,
              std::uint32_t b, std::int64_t micro_batches, Duration by) {
  const Action& first = of_a.of->program.actions[a];
  const Action& second = of_b.of->program.actions[b];
  return first.kind == second.kind && first.stage == second.stage &&
         first.overlaps_next == second.overlaps_next &&
         of_b.timeline.start[b] - of_a.timeline.start[a] == by &&
         of_b.timeline.end[b] - of_a.timeline.end[a] == by &&
         of_b.of->micro_batch_of(second) - of_a.of->micro_batch_of(first) == micro_batches &&
         of_a.of->costs_of(first) == of_b.of->costs_of(second);
}

namespace {

class LongerStep {
 public:
  LongerStep(const ReplayedLists& first, const ReplayedLists& second, std::int64_t length,
             const Periods& periods)
      : first_(first),
        second_(second),
        length_(length),
        periods_(periods),
        later_(first.of->program.actions.size()) {}

  [[nodiscard]] bool goes_on() {
    if (first_.of->lists.of_rank.size() != second_.of->lists.of_rank.size()) return false;
    for (std::size_t r = 0; r < first_.of->phases.size(); ++r) {
      if (!list_goes_on(r, first_.of->phases[r])) return false;
    }
    return tail_goes_on();
  }

 private:
  [[nodiscard]] bool list_goes_on(std::size_t rank, const RankPhases& of_rank) {
    const auto& before = first_.of->lists.of_rank[rank];
    const auto& after = second_.of->lists.of_rank[rank];
    const std::vector<ListPhase>& phases = of_rank.phases();
    std::size_t phase = 0, put_in = 0;
    Duration later{};
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (; phase < phases.size() && i >= phases[phase].middle; ++phase) {
        put_in += static_cast<std::size_t>(length_ * phases[phase].each);
        later += periods_[phase];
      }
      if (i + put_in >= after.size()) return false;
      later_[before[i]] = later;
      const std::int64_t micro_batches = of_rank.growth(i, length_);
      if (!is_later(first_, before[i], second_, after[i + put_in], micro_batches, later)) {
        return false;
      }
    }
    return before.size() + put_in == after.size();
  }

  [[nodiscard]] bool tail_goes_on() {
    const auto& a = first_.of->lists.tail;
    const auto& b = second_.of->lists.tail;
    if (a.size() != b.size()) return false;
    const Duration period = std::accumulate(periods_.begin(), periods_.end(), Duration{});
    bool all_alike = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Action& one = first_.of->program.actions[a[i]];
      const Action& other = second_.of->program.actions[b[i]];
      if (one.kind != other.kind || one.stage != other.stage) return false;
      const Duration later = second_.timeline.end[b[i]] - first_.timeline.end[a[i]];
      later_[a[i]] = later;
      all_alike = all_alike && later == period;
    }
    return all_alike || (ends_behind_them(period) && waits_for_the_same());
  }

  // What is not later by all windows must not be what a rank does last.
  [[nodiscard]] bool ends_behind_them(Duration period) const {
    const Timeline& times = first_.timeline;
    return std::all_of(
        first_.of->lists.tail.begin(), first_.of->lists.tail.end(), [&](std::uint32_t i) {
          if (later_[i] == period) return true;
          const RankId rank = first_.of->program.rank_of(first_.of->program.actions[i]);
          const auto& list = first_.of->lists.of_rank[static_cast<std::size_t>(rank.value)];
          return !list.empty() && later_[list.back()] == period &&
                 times.end[i] <= times.end[list.back()];
        });
  }

  // Each of the tail starts when something ends that is later by as much, and nothing that it waits
  // for is later by more.
  [[nodiscard]] bool waits_for_the_same() const {
    const StepGraph& graph = first_.of->graph;
    const Timeline& times = first_.timeline;
    std::vector<bool> is_tail(graph.action_of_task.size(), false), waits = is_tail;
    for (const std::uint32_t i : first_.of->lists.tail) is_tail[graph.task_of_action[i]] = true;
    for (std::size_t task = 0; task < is_tail.size(); ++task) {
      const std::uint32_t before = graph.action_of_task[task];
      for (std::uint32_t e = graph.row[task]; e < graph.row[task + 1]; ++e) {
        if (!is_tail[graph.next[e]]) continue;
        const std::uint32_t after = graph.action_of_task[graph.next[e]];
        if (later_[before] > later_[after]) return false;
        if (later_[before] == later_[after] && times.end[before] == times.start[after]) {
          waits[graph.next[e]] = true;
        }
      }
    }
    return waits == is_tail;
  }

  const ReplayedLists& first_;
  const ReplayedLists& second_;
  std::int64_t length_;
  const Periods& periods_;
  std::vector<Duration> later_;  // by how much each action of the first is later in the second
};

}  // namespace

bool goes_on(const ReplayedLists& first, const ReplayedLists& second, std::int64_t length,
             const Periods& periods) {
  return LongerStep(first, second, length, periods).goes_on();
}

}  // namespace penstock
