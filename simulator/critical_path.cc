// Finds what bound every start by asking, of all that the step graph and the waits of the Program
// let an action wait for, which ended last: the graph says nothing of times, the timeline says
// nothing of causes. Among equal ends what the action itself needs wins, because needs are offered
// first. Under a run-time rule the graph does not hold the order of compute on a rank, so that
// order is read from the timeline.
//
// Invariant: what bound an action ended no later than the action began, so that following it
// backwards always ends, at an action that waited for nothing.
#include "simulator/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "simulator/step_graph.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNone = kWaitsForNothing;

class BoundFinder {
 public:
  BoundFinder(const Program& program, const Timeline& timeline, const ExecutorModel& executor)
      : program_(program),
        timeline_(timeline),
        graph_(step_graph(program, executor)),
        bound_(graph_.action_of_task.size(), kNone) {}

  std::vector<std::uint32_t> run() {
    offer_needs();  // first, so that they win where ends are equal
    offer_edges();
    if (program_.rule != RunTimeRule::kNone) offer_executed_order();
    std::vector<std::uint32_t> result;
    result.reserve(program_.actions.size());
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) result.push_back(bound_of(i));
    return result;
  }

 private:
  [[nodiscard]] SimTime start(std::uint32_t task) const {
    return timeline_.start[graph_.action_of_task[task]];
  }
  [[nodiscard]] SimTime end(std::uint32_t task) const {
    return timeline_.end[graph_.action_of_task[task]];
  }

  // Of a collective the member that the action itself waits for.
  [[nodiscard]] std::uint32_t bound_of(std::uint32_t i) const {
    const std::uint32_t task = bound_[graph_.task_of_action[i]];
    if (task == kNone) return kNone;
    const std::uint32_t needed = program_.actions[i].waits_for;
    const bool is_member = needed != kWaitsForNothing && graph_.task_of_action[needed] == task &&
                           is_collective(program_.actions[needed].kind);
    return is_member ? needed : graph_.action_of_task[task];
  }

  // A run-time rule may have started an action before what comes first in its list.
  void offer(std::uint32_t task, std::uint32_t before) {
    if (task == before || end(before) > start(task)) return;
    if (bound_[task] == kNone || end(before) > end(bound_[task])) bound_[task] = before;
  }

  void offer_needs() {
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {
      if (is_receive(program_.actions[i].kind)) continue;
      for_each_wait(program_, i, [&](std::uint32_t needed) {
        offer(graph_.task_of_action[i], graph_.task_of_action[needed]);
      });
    }
  }

  void offer_edges() {
    for (std::uint32_t task = 0; task < graph_.action_of_task.size(); ++task) {
      for (std::uint32_t e = graph_.row[task]; e < graph_.row[task + 1]; ++e) {
        offer(graph_.next[e], task);
      }
    }
  }

  // The graph does not know in which order a rule ran the compute of a rank.
  void offer_executed_order() {
    std::vector<std::vector<std::uint32_t>> computes(static_cast<std::size_t>(program_.ranks()));
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {
      const Action& action = program_.actions[i];
      if (!is_compute(action.kind)) continue;
      computes[static_cast<std::size_t>(program_.rank_of(action).value)].push_back(i);
    }
    for (std::vector<std::uint32_t>& order : computes) {
      std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return std::tuple(timeline_.start[a], timeline_.end[a], a) <
               std::tuple(timeline_.start[b], timeline_.end[b], b);
      });
      for (std::size_t k = 1; k < order.size(); ++k) {
        offer(graph_.task_of_action[order[k]], graph_.task_of_action[order[k - 1]]);
      }
    }
  }

  const Program& program_;
  const Timeline& timeline_;
  const StepGraph graph_;
  std::vector<std::uint32_t> bound_;  // by task
};

}  // namespace

std::vector<std::uint32_t> bound_by(const Program& program, const Timeline& timeline,
                                    const ExecutorModel& executor) {
  return BoundFinder(program, timeline, executor).run();
}

}  // namespace penstock
