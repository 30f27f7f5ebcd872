#include "simulator/events/simulate_by_events.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "simulator/replay.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNoTask = RuleDispatch::kNoTask;

SimTime time_of(std::int64_t ns) { return SimTime{Duration{ns}}; }

void refuse_rule_with_queues(const Program& program, const ExecutorModel& executor) {
  if (program.rule == RunTimeRule::kNone || straight_replay_is_exact(executor)) return;
  throw_bad_input(program.schedule +
                  ": its order changes while it runs, which the executor model '" + executor.name +
                  "' cannot carry out: use one with asynchronous transfers, without queues and "
                  "without posted receives");
}

}  // namespace

EventSimulation::EventSimulation(const Program& program, const ExecutorModel& executor)
    : program_(program),
      executor_(executor),
      graph_((refuse_rule_with_queues(program, executor), build_task_graph(program, executor))),
      dispatch_(program, graph_),
      has_rule_(program.rule != RunTimeRule::kNone),
      duration_(graph_.action_of_task.size()),
      start_(duration_.size()),
      end_(duration_.size()),
      is_busy_(dispatch_.ranks()),
      looks_(dispatch_.ranks()) {}

Timeline EventSimulation::run(const ActionDurations& durations) {
  (void)run_to_end(durations);
  return timeline();
}

SimTime EventSimulation::run_to_end(const ActionDurations& durations) {
  restart(durations);
  for (std::uint32_t task = 0; task < waits_.size(); ++task) {
    if (waits_[task] == 0) release(task);
  }
  for (let_idle_ranks_look(); !queue_.empty(); let_idle_ranks_look()) {
    now_ = queue_.first_time();
    while (queue_.first_time() == now_) end_first();
  }
  if (events_ < waits_.size()) report_stuck();
  return time_of(now_) + executor_.per_step;
}

void EventSimulation::restart(const ActionDurations& durations) {
  if (durations.size() != program_.actions.size()) {
    throw_bad_input("durations: expected one per action (" +
                    std::to_string(program_.actions.size()) + "), found " +
                    std::to_string(durations.size()));
  }
  std::int64_t sum = 0;
  for (std::uint32_t task = 0; task < duration_.size(); ++task) {
    duration_[task] = durations[graph_.action_of_task[task]].count();
    if (duration_[task] < 0 || __builtin_add_overflow(sum, duration_[task], &sum)) {
      throw_bad_input("durations: they must be at least 0 and add up to what 64 bits hold; " +
                      name_of(program_, program_.actions[graph_.action_of_task[task]]) + " takes " +
                      std::to_string(duration_[task]) + " ns");
    }
  }
  now_ = 0;
  events_ = 0;
  queue_.clear();
  dispatch_.restart();
  waits_ = graph_.predecessors;
  std::fill(is_busy_.begin(), is_busy_.end(), false);
  std::fill(looks_.begin(), looks_.end(), true);
}

void EventSimulation::start(std::uint32_t task) {
  const EventQueue::Slot slot = slot_is_open_ ? ended_slot_ : queue_.take();
  slot_is_open_ = false;
  if (slot >= task_of_slot_.size()) task_of_slot_.resize(slot + std::size_t{1});
  task_of_slot_[slot] = task;
  start_[task] = now_;
  queue_.set(slot, now_ + duration_[task]);
}

void EventSimulation::end_first() {
  ended_slot_ = queue_.first_slot();
  slot_is_open_ = true;
  ++events_;
  const std::uint32_t task = task_of_slot_[ended_slot_];
  end_[task] = now_;
  if (const std::uint32_t rank = dispatch_.rank_of(task); has_rule_ && rank != kNoTask) {
    is_busy_[rank] = false;
    looks_[rank] = true;
  }
  for (std::uint32_t e = graph_.row[task]; e < graph_.row[task + 1]; ++e) {
    if (--waits_[graph_.next[e]] == 0) release(graph_.next[e]);
  }
  if (slot_is_open_) queue_.give_back(ended_slot_);
  slot_is_open_ = false;
}

// Nothing keeps the task any more but, with a rule, the choice of its rank.
void EventSimulation::release(std::uint32_t task) {
  const std::uint32_t rank = dispatch_.rank_of(task);
  if (has_rule_ && rank != kNoTask) {
    looks_[rank] = true;
  } else {
    start(task);
  }
}

void EventSimulation::let_idle_ranks_look() {
  if (!has_rule_) return;
  for (std::size_t rank = 0; rank < looks_.size(); ++rank) {
    if (!looks_[rank] || is_busy_[rank]) continue;
    looks_[rank] = false;
    const std::uint32_t task = dispatch_.next(rank, waits_);
    if (task == kNoTask) continue;
    is_busy_[rank] = true;
    start(task);
  }
}

void EventSimulation::report_stuck() const {
  std::string cycle;
  if (has_rule_) {
    cycle = "its lists cannot be carried out under its rule";
  } else {
    for (const std::string& name : cycle_names(program_, graph_, waits_)) cycle += name + " -> ";
    cycle.resize(cycle.size() - 4);
  }
  throw_bad_input(program_.schedule + " deadlocks under the executor model '" + executor_.name +
                  "': " + cycle);
}

Timeline EventSimulation::timeline() const {
  Timeline timeline;
  timeline.start.reserve(program_.actions.size());
  timeline.end.reserve(program_.actions.size());
  for (std::size_t i = 0; i < program_.actions.size(); ++i) {
    const std::uint32_t task = graph_.task_of_action[i];
    // A receive is the end of its transfer: it has no length of its own.
    const bool receive = is_receive(program_.actions[i].kind);
    timeline.start.push_back(time_of(receive ? end_[task] : start_[task]));
    timeline.end.push_back(time_of(end_[task]));
  }
  timeline.step_end = time_of(now_) + executor_.per_step;
  return timeline;
}

Timeline simulate_by_events(const Program& program, const StagePrices& prices,
                            const ExecutorModel& executor) {
  return EventSimulation(program, executor).run(action_durations(program, prices, executor));
}

}  // namespace penstock
