#include "simulator/events/rule_dispatch.h"

#include <algorithm>

#include "core/values/rule_facts.h"

namespace penstock {

RuleDispatch::RuleDispatch(const Program& program, const StepGraph& graph) : rule_(program.rule) {
  if (rule_ == RunTimeRule::kNone) return;
  ranks_.resize(static_cast<std::size_t>(program.ranks()));
  looking_.reserve(ranks_.size());
  rank_of_task_.assign(graph.action_of_task.size(), kNone);
  kind_of_task_.reserve(graph.action_of_task.size());
  for (std::uint32_t task = 0; task < graph.action_of_task.size(); ++task) {
    const Action& action = program.actions[graph.action_of_task[task]];
    kind_of_task_.push_back(action.kind);
    if (!is_compute(action.kind)) continue;
    const auto r = static_cast<std::uint32_t>(program.rank_of(action).value);
    rank_of_task_[task] = r;
    ranks_[r].list.push_back(task);
    if (action.kind == ActionKind::kForward) ranks_[r].forwards.push_back(task);
  }
}

void RuleDispatch::restart() {
  looking_.clear();
  ready_at_.assign(rank_of_task_.size(), EventQueue::kNever);
  now_ = 0;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.head = rank.forwards_started = 0;
    rank.forward_is_next = rank.is_busy = rank.is_looking = false;
    look_again(r);
  }
}

std::uint32_t RuleDispatch::next(Rank& rank) const {
  while (head_ran_early(rank)) ++rank.head;
  switch (step(rank)) {
    case Step::kTakeForward:
      rank.forward_is_next = false;
      return rank.forwards[rank.forwards_started++];
    case Step::kTakeHead: {
      const std::uint32_t task = rank.list[rank.head++];
      if (kind_of_task_[task] == ActionKind::kForward) ++rank.forwards_started;
      return task;
    }
    default:
      return kNone;
  }
}

RuleDispatch::Time RuleDispatch::next_arrival(const Rank& rank) const {
  Time next = EventQueue::kNever;
  const auto look_at = [&](std::uint32_t task) {
    if (!ready(task)) next = std::min(next, ready_at_[task]);
  };
  if (rank.head < rank.list.size()) look_at(rank.list[rank.head]);
  if (rank.forwards_started < rank.forwards.size()) look_at(rank.forwards[rank.forwards_started]);
  return next;
}

// Forwards run in list order, whether moved or not: those before the next one have run.
bool RuleDispatch::head_ran_early(const Rank& rank) const {
  if (rank.head == rank.list.size()) return false;
  const std::uint32_t head = rank.list[rank.head];
  if (kind_of_task_[head] != ActionKind::kForward) return false;
  return rank.forwards_started == rank.forwards.size() ||
         head != rank.forwards[rank.forwards_started];
}

RuleDispatch::Step RuleDispatch::step(Rank& rank) const {
  if (rank.head == rank.list.size()) return Step::kWait;
  const std::uint32_t head = rank.list[rank.head];
  if (!rank.forward_is_next) {
    if (ready(head)) return Step::kTakeHead;
    if (kind_of_task_[head] != ActionKind::kRecompute) return Step::kWait;
    // The gradient of this recompute has not arrived.
    if (rank.forwards_started == rank.forwards.size()) {
      return facts_of(rule_).recomputes_early ? Step::kTakeHead : Step::kWait;
    }
    rank.forward_is_next = !facts_of(rule_).waits_for_either;
  }
  return ready(rank.forwards[rank.forwards_started]) ? Step::kTakeForward : Step::kWait;
}

}  // namespace penstock
