// Two passes. The first gives every action a task: a receive has that of its send, the second
// member of an OVERLAP that of the first, and all members of a collective one. The second adds an
// edge for every wait and, by the lane of the action's row (core/values/action_rules.h), one from
// the task before it in the same stream or queue. Edges are then sorted into rows by counting.
// Invariant: the graph holds all that may delay a task but prices; a task graph with a cycle is a
// deadlock, and cycle_names() walks it backwards to name it.
#include "simulator/step_graph.h"

#include <map>
#include <tuple>
#include <utility>

#include "core/values/action_rules.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNone = 0xFFFF'FFFFU;

class Builder {
 public:
  Builder(const Program& program, const ExecutorModel& executor)
      : program_(program),
        executor_(executor),
        compute_(static_cast<std::size_t>(program.ranks()), kNone),
        collective_(compute_) {}

  StepGraph build() {
    name_tasks();
    edges_.reserve(3 * program_.actions.size());
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) add_edges_of(i);
    return compress();
  }

 private:
  using Queue = std::tuple<int, int, int>;  // rank, peer, direction; -1 where they do not matter

  void name_tasks() {
    std::map<std::pair<std::uint32_t, ActionKind>, std::uint32_t> collective;
    graph_.task_of_action.assign(program_.actions.size(), kNone);
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {
      const Action& action = program_.actions[i];
      if (is_receive(action.kind)) {
        graph_.task_of_action[i] = graph_.task_of_action[action.waits_for];
        continue;
      }
      if (i > 0 && program_.actions[i - 1].overlaps_next) {  // one task for both
        graph_.task_of_action[i] = graph_.task_of_action[i - 1];
        continue;
      }
      if (is_collective(action.kind)) {
        const auto [entry, fresh] =
            collective.try_emplace({action.group.value, action.kind}, tasks());
        graph_.task_of_action[i] = entry->second;
        if (!fresh) continue;
      } else {
        graph_.task_of_action[i] = tasks();
      }
      graph_.action_of_task.push_back(i);
    }
  }

  void add_edges_of(std::uint32_t i) {
    const Action& action = program_.actions[i];
    const std::uint32_t task = graph_.task_of_action[i];
    const int rank = program_.rank_of(action).value;
    if (!is_receive(action.kind)) {
      for_each_wait(program_, i,
                    [&](std::uint32_t needed) { edge(graph_.task_of_action[needed], task); });
    }
    switch (rule_of(action.kind).lane) {
      case Lane::kCompute:
        keep_compute(rank, task);
        break;
      case Lane::kCollective:
        follow(collective_[static_cast<std::size_t>(rank)], task);
        break;
      case Lane::kWire:
        add_wire(action, rank, task);
        break;
      case Lane::kCopyIn:
        follow(copies_, std::pair(rank, ActionKind::kLoad), task);
        break;
      case Lane::kCopyOut:
        follow(copies_,
               std::pair(rank, executor_.host_link == HostLink::kSimplex ? ActionKind::kLoad
                                                                         : ActionKind::kStore),
               task);
        break;
      case Lane::kAtOnce:
        break;
    }
  }

  void keep_compute(int rank, std::uint32_t task) {
    // With a run-time rule the order of a rank's compute is not known yet.
    if (program_.rule == RunTimeRule::kNone) follow(last_computed(rank), task);
  }

  // What waits for a receive waits for its transfer, since both are one task.
  void add_wire(const Action& action, int rank, std::uint32_t task) {
    if (occupies_compute(action.kind)) keep_compute(rank, task);
    const std::uint32_t before = last_computed(rank);
    // A receive is reached once the compute before it in the rank's list has ended.
    if (is_receive(action.kind) && executor_.receive_must_be_posted && before != kNone) {
      edge(before, task);
    }
    if (executor_.queues != QueueLayout::kNone) follow(queues_, queue_of(action, rank), task);
  }

  [[nodiscard]] bool occupies_compute(ActionKind kind) const {
    if (is_send(kind)) return executor_.transfer != TransferMode::kAsync;
    return is_receive(kind) && executor_.transfer == TransferMode::kRendezvous;
  }

  [[nodiscard]] Queue queue_of(const Action& action, int rank) const {
    const Stage& stage = program_.stages[action.stage.value];
    const int peer = program_.stages[other_end(stage, action.kind).value].rank.value;
    switch (executor_.queues) {
      case QueueLayout::kPerRank:
        return {rank, -1, -1};
      case QueueLayout::kPerPeer:
        return {rank, peer, -1};
      default:
        return {rank, peer, is_send(action.kind) ? 1 : 0};
    }
  }

  // `task` comes next in one stream or queue.
  template <class Map, class Key>
  void follow(Map& last, const Key& key, std::uint32_t task) {
    const auto [entry, fresh] = last.try_emplace(key, kNone);
    follow(entry->second, task);
  }
  void follow(std::uint32_t& last, std::uint32_t task) {
    if (last != kNone) edge(last, task);
    last = task;
  }
  std::uint32_t& last_computed(int rank) { return compute_[static_cast<std::size_t>(rank)]; }
  void edge(std::uint32_t from, std::uint32_t to) {
    if (from != to) edges_.emplace_back(from, to);
  }
  [[nodiscard]] std::uint32_t tasks() const {
    return static_cast<std::uint32_t>(graph_.action_of_task.size());
  }

  StepGraph compress() {
    graph_.row.assign(tasks() + std::size_t{1}, 0);
    graph_.predecessors.assign(tasks(), 0);
    for (const auto& [from, to] : edges_) {
      ++graph_.row[from + 1];
      ++graph_.predecessors[to];
    }
    for (std::size_t t = 0; t < tasks(); ++t) graph_.row[t + 1] += graph_.row[t];
    graph_.next.resize(edges_.size());
    std::vector<std::uint32_t> fill(graph_.row.begin(), graph_.row.end() - 1);
    for (const auto& [from, to] : edges_) graph_.next[fill[from]++] = to;
    return std::move(graph_);
  }

  const Program& program_;
  const ExecutorModel& executor_;
  StepGraph graph_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
  std::vector<std::uint32_t> compute_, collective_;  // last task of each rank's stream
  std::map<Queue, std::uint32_t> queues_;
  std::map<std::pair<int, ActionKind>, std::uint32_t> copies_;
};

}  // namespace

StepGraph step_graph(const Program& program, const ExecutorModel& executor) {
  return Builder(program, executor).build();
}

std::vector<std::string> cycle_names(const Program& program, const StepGraph& graph,
                                     const std::vector<std::uint32_t>& predecessors_left) {
  // Every task that is left has a predecessor that is left; walking backwards must close.
  std::vector<std::uint32_t> before(graph.action_of_task.size(), kNone);
  std::uint32_t task = kNone;
  for (std::uint32_t from = 0; from < graph.action_of_task.size(); ++from) {
    if (predecessors_left[from] == 0) continue;
    task = from;
    for (std::uint32_t e = graph.row[from]; e < graph.row[from + 1]; ++e) {
      if (predecessors_left[graph.next[e]] > 0) before[graph.next[e]] = from;
    }
  }
  std::vector<bool> seen(before.size(), false);
  while (!seen[task]) {
    seen[task] = true;
    task = before[task];
  }
  std::vector<std::string> names;
  const std::uint32_t first = task;
  do {
    names.insert(names.begin(), name_of(program, program.actions[graph.action_of_task[task]]));
    task = before[task];
  } while (task != first);
  return names;
}

}  // namespace penstock
