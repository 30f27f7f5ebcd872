#include <algorithm>

#include "core/values/error.h"
#include "simulator/price_table.h"
#include "simulator/simulate.h"
#include "simulator/step_graph.h"

namespace penstock {
namespace {

// Kahn's walk: calls visit(task) for every task after all its predecessors and returns how many
// predecessors each task still lacked when nothing more could run.
template <class Visit>
std::vector<std::uint32_t> walk(const StepGraph& graph, Visit visit) {
  std::vector<std::uint32_t> left = graph.predecessors;
  std::vector<std::uint32_t> work;
  for (std::uint32_t t = 0; t < left.size(); ++t) {
    if (left[t] == 0) work.push_back(t);
  }
  while (!work.empty()) {
    const std::uint32_t task = work.back();
    work.pop_back();
    visit(task);
    for (std::uint32_t e = graph.row[task]; e < graph.row[task + 1]; ++e) {
      if (--left[graph.next[e]] == 0) work.push_back(graph.next[e]);
    }
  }
  return left;
}

bool all_ran(const std::vector<std::uint32_t>& left) {
  return std::all_of(left.begin(), left.end(), [](std::uint32_t n) { return n == 0; });
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + " -> ";
  return text + names.front();
}

}  // namespace

std::optional<std::vector<std::string>> deadlock(const Program& program,
                                                 const ExecutorModel& executor) {
  const StepGraph graph = step_graph(program, executor);
  const auto left = walk(graph, [](std::uint32_t) {});
  if (all_ran(left)) return std::nullopt;
  return cycle_names(program, graph, left);
}

Timeline simulate_by_worklist(const Program& program, const StagePrices& prices,
                              const ExecutorModel& executor) {
  return simulate_by_worklist(program, step_graph(program, executor), prices, executor);
}

Timeline simulate_by_worklist(const Program& program, const StepGraph& graph,
                              const StagePrices& prices, const ExecutorModel& executor) {
  if (program.rule != RunTimeRule::kNone) {
    throw Error(ErrorKind::kInternal, program.schedule + ": a run-time rule needs events");
  }
  const PriceTable table(program, prices, executor);
  std::vector<SimTime> start(graph.action_of_task.size()), end(start.size());
  const auto left = walk(graph, [&](std::uint32_t task) {
    end[task] = start[task] + table.of_task(program, graph.action_of_task[task]);
    for (std::uint32_t e = graph.row[task]; e < graph.row[task + 1]; ++e) {
      auto& next = start[graph.next[e]];
      next = std::max(next, end[task]);
    }
  });
  if (!all_ran(left)) {
    throw_bad_input(program.schedule + " deadlocks under the executor model '" + executor.name +
                    "': " + join(cycle_names(program, graph, left)));
  }
  Timeline timeline;
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const std::uint32_t task = graph.task_of_action[i];
    // A receive is the end of its transfer: it has no length of its own.
    timeline.start.push_back(is_receive(program.actions[i].kind) ? end[task] : start[task]);
    timeline.end.push_back(end[task]);
    timeline.step_end = std::max(timeline.step_end, end[task]);
  }
  timeline.step_end += executor.per_step;
  return timeline;
}

}  // namespace penstock
