// Three ways through one step graph, chosen by what can influence what. Without a rule and without
// shared links nobody looks at the state of the run: tasks are worked out in any order that
// respects the graph. With a rule only ranks choose, and arrivals are known as soon as the compute
// that causes them ends: time goes from choice to choice of a rank. With shared links every start
// and end of a transfer changes the others, and a queue of events advances time.
//
// Invariant: at one instant all ends are handled before any rank chooses, so that the order of
// equal events cannot be seen in the result. A run that stops with tasks left is a cycle, and it is
// named.
#include "simulator/events/simulate_by_events.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "simulator/replay.h"

namespace penstock {
namespace {

SimTime time_of(std::int64_t ns) { return SimTime{Duration{ns}}; }

StepGraph graph_of(const Program& program, const ExecutorModel& executor) {
  if (program.rule != RunTimeRule::kNone && !straight_replay_is_exact(executor)) {
    throw_bad_input(program.schedule +
                    ": its order changes while it runs, which the executor model '" +
                    executor.name +
                    "' does not support; use one with asynchronous transfers, without queues and "
                    "without posted receives");
  }
  return step_graph(program, executor);
}

}  // namespace

EventSimulation::EventSimulation(const Program& program, const ExecutorModel& executor,
                                 const Contention* contention)
    : program_(program),
      executor_(executor),
      graph_(graph_of(program, executor)),
      dispatch_(program, graph_),
      tasks_(graph_.action_of_task.size()) {
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    std::uint32_t at = graph_.row[t];
    const std::uint32_t end = graph_.row[t + 1];
    if (at < end) tasks_[t].next = graph_.next[at++];
    if (at < end) tasks_[t].second_next = graph_.next[at++];
    tasks_[t].more_begin = at;
    tasks_[t].more_end = end;
  }
  if (contention != nullptr) note_transfers(*contention);
}

void EventSimulation::note_transfers(const Contention& contention) {
  const Network& network = contention.network;
  if (network.activation.size() != program_.stages.size() ||
      network.gradient.size() != program_.stages.size() ||
      contention.transfers.size() != program_.actions.size()) {
    throw Error(ErrorKind::kInternal, "contention: the network is that of another program");
  }
  shared_.emplace(network);
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> known;  // by route and bytes
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const std::uint32_t index = graph_.action_of_task[t];
    const Action& action = program_.actions[index];
    const std::int64_t bytes = contention.transfers[index].count;
    if (!is_send(action.kind) || bytes <= 0) continue;
    const auto& routes =
        action.kind == ActionKind::kSendActivation ? network.activation : network.gradient;
    const std::uint32_t route = routes[action.stage.value];
    if (route == kNoRoute) continue;
    const auto [entry, fresh] =
        known.try_emplace(std::pair(route, bytes), static_cast<std::uint32_t>(transfers_.size()));
    tasks_[t].transfer = entry->second;
    if (!fresh) continue;
    const Duration latency = network.routes[route].latency + fixed_cost(executor_, action.kind);
    transfers_.push_back({route, latency.count(), static_cast<double>(bytes)});
  }
}

Timeline EventSimulation::run(const ActionDurations& durations) {
  keeps_times_ = true;
  start_.resize(tasks_.size());
  end_.resize(tasks_.size());
  run_all(durations);
  return timeline();
}

SimTime EventSimulation::step_end(const ActionDurations& durations) {
  keeps_times_ = false;
  run_all(durations);
  return time_of(now_) + executor_.per_step;
}

void EventSimulation::run_all(const ActionDurations& durations) {
  restart(durations);
  if (!shared_) return run_alone();
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].waits == 0) release(task);
  }
  const auto start_chosen = [this](std::uint32_t task) { start(task); };
  const auto wait = [](std::uint32_t, Time) {};  // what is released says so
  dispatch_.start_next(now_, start_chosen, wait);
  while (!queue_.empty()) {
    advance();
    dispatch_.start_next(now_, start_chosen, wait);
  }
  if (tasks_left_ > 0) report_stuck();
}

// Transfers do not slow each other down.
void EventSimulation::run_alone() {
  ready_at_.assign(tasks_.size(), 0);
  released_.clear();
  last_end_ = 0;
  if (dispatch_.has_rule()) {
    run_by_rule();
  } else {
    run_in_any_order();
  }
  now_ = last_end_;
  if (tasks_left_ > 0) report_stuck();
}

// The task has run. Calls hand_on(next) for each that waits for nothing else.
template <class HandOn>
void EventSimulation::finish(std::uint32_t task, Time start, const HandOn& hand_on) {
  const Task& done = tasks_[task];
  const Time end = start + done.duration;
  if (keeps_times_) {
    start_[task] = start;
    end_[task] = end;
  }
  last_end_ = std::max(last_end_, end);
  --tasks_left_;
  ++events_;
  const auto ends_for = [&](std::uint32_t next) {
    ready_at_[next] = std::max(ready_at_[next], end);
    if (--tasks_[next].waits == 0) hand_on(next);
  };
  if (done.next != kNone) ends_for(done.next);
  if (done.second_next != kNone) ends_for(done.second_next);
  for (std::uint32_t i = done.more_begin; i < done.more_end; ++i) ends_for(graph_.next[i]);
}

// Where nobody looks at the state of the run, a task starts when the last of what it waits for has
// ended, and the order in which tasks are worked out does not matter.
void EventSimulation::run_in_any_order() {
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].waits == 0) released_.push_back(task);
  }
  while (!released_.empty()) {
    const std::uint32_t task = released_.back();
    released_.pop_back();
    finish(task, ready_at_[task], [this](std::uint32_t next) { released_.push_back(next); });
  }
}

// Only ranks choose, and what they look at is known beforehand: when a compute task ends, it is
// known when its transfers will have arrived. So time advances from one choice of a rank to the
// next, and ranks are all that has a next instant: the end of its task, or, while it waits, the
// next arrival. Transfers and collectives are no events.
void EventSimulation::run_by_rule() {
  task_of_rank_.assign(dispatch_.ranks(), kNone);
  queue_.reserve(dispatch_.ranks());
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].waits == 0) will_be_ready(task);
  }
  finish_released();
  const auto start_chosen = [this](std::uint32_t task) {
    task_of_rank_[dispatch_.rank_of(task)] = task;
    queue_.set(dispatch_.rank_of(task), now_ + tasks_[task].duration);
  };
  const auto wait = [this](std::uint32_t rank, Time arrival) { queue_.set(rank, arrival); };
  dispatch_.start_next(now_, start_chosen, wait);
  while (!queue_.empty()) {
    now_ = queue_.first_time();
    while (queue_.first_time() == now_) {
      const Slot rank = queue_.first_slot();
      queue_.set(rank, EventQueue::kNever);
      if (dispatch_.is_busy(rank)) {
        end_of_rank(task_of_rank_[rank]);
      } else {
        dispatch_.look_again(rank);
      }
    }
    dispatch_.start_next(now_, start_chosen, wait);
  }
}

void EventSimulation::end_of_rank(std::uint32_t task) {
  dispatch_.has_ended(task);
  finish(task, now_ - tasks_[task].duration, [this](std::uint32_t next) { will_be_ready(next); });
  finish_released();
}

// From ready_at_ on.
void EventSimulation::will_be_ready(std::uint32_t task) {
  if (!dispatch_.chooses(task)) {
    released_.push_back(task);
    return;
  }
  const Time time = ready_at_[task];
  const std::uint32_t rank = dispatch_.rank_of(task);
  dispatch_.ready_from(task, time);
  if (dispatch_.is_busy(rank)) return;  // it will look when it is done
  if (time <= now_) {
    dispatch_.look_again(rank);
  } else if (time < queue_.time_of(rank)) {
    queue_.set(rank, time);
  }
}

// What no rank chooses starts when it can.
void EventSimulation::finish_released() {
  while (!released_.empty()) {
    const std::uint32_t task = released_.back();
    released_.pop_back();
    finish(task, ready_at_[task], [this](std::uint32_t next) { will_be_ready(next); });
  }
}

void EventSimulation::restart(const ActionDurations& durations) {
  if (durations.size() != program_.actions.size()) {
    throw_bad_input("durations: expected one per action (" +
                    std::to_string(program_.actions.size()) + "), found " +
                    std::to_string(durations.size()));
  }
  Time sum = 0;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const std::uint32_t action = graph_.action_of_task[t];
    const Time duration = durations[action].count();
    if (duration < 0 || __builtin_add_overflow(sum, duration, &sum)) {
      throw_bad_input("durations: they must be at least 0 and add up to what 64 bits hold; " +
                      name_of(program_, program_.actions[action]) + " takes " +
                      std::to_string(duration) + " ns");
    }
    tasks_[t].duration = duration;
    tasks_[t].waits = graph_.predecessors[t];
  }
  now_ = 0;
  events_ = 0;
  tasks_left_ = tasks_.size();
  queue_.clear();
  dispatch_.restart();
  if (shared_) shared_->clear();
}

// Everything that happens at the next instant but for what idle ranks then choose.
void EventSimulation::advance() {
  now_ = queue_.first_time();
  do {
    while (queue_.first_time() == now_) handle_first();
    if (shared_) shared_->rebalance(now_, queue_);
  } while (queue_.first_time() == now_);
}

void EventSimulation::handle_first() {
  ++events_;
  const Slot slot = queue_.first_slot();
  const Running running = running_[slot];
  if (running.phase == Phase::kLatency) {
    begin_flow(slot, running.task);
    return;
  }
  if (running.phase == Phase::kFlowing) shared_->end(slot, now_);
  open_slot_ = slot;
  slot_is_open_ = true;
  end(running.task);
  if (slot_is_open_) queue_.give_back(slot);
  slot_is_open_ = false;
}

void EventSimulation::start(std::uint32_t task) {
  const Slot slot = slot_is_open_ ? open_slot_ : queue_.take();
  slot_is_open_ = false;
  if (slot >= running_.size()) running_.resize(slot + std::size_t{1});
  if (keeps_times_) start_[task] = now_;
  const Task& started = tasks_[task];
  if (started.next != kNone) __builtin_prefetch(&tasks_[started.next]);
  if (started.second_next != kNone) __builtin_prefetch(&tasks_[started.second_next]);
  running_[slot] = {task, Phase::kAlone};
  Time until = now_ + started.duration;
  if (started.transfer != kNone && transfers_[started.transfer].latency < started.duration) {
    const Time latency = transfers_[started.transfer].latency;
    if (latency == 0) return begin_flow(slot, task);
    running_[slot].phase = Phase::kLatency;
    until = now_ + latency;
  }
  queue_.set(slot, until);
}

void EventSimulation::begin_flow(Slot slot, std::uint32_t task) {
  running_[slot] = {task, Phase::kFlowing};
  const SharedTransfer& transfer = transfers_[tasks_[task].transfer];
  shared_->begin(slot, transfer.route, transfer.bytes, tasks_[task].duration - transfer.latency,
                 now_, queue_);
}

void EventSimulation::end(std::uint32_t task) {
  if (keeps_times_) end_[task] = now_;
  --tasks_left_;
  if (dispatch_.chooses(task)) dispatch_.has_ended(task);
  const Task& ended = tasks_[task];
  if (ended.next != kNone) release_if_ready(ended.next);
  if (ended.second_next != kNone) release_if_ready(ended.second_next);
  for (std::uint32_t i = ended.more_begin; i < ended.more_end; ++i) {
    release_if_ready(graph_.next[i]);
  }
}

void EventSimulation::release_if_ready(std::uint32_t task) {
  if (--tasks_[task].waits == 0) release(task);
}

// Nothing keeps the task any more but, with a rule, the choice of its rank.
void EventSimulation::release(std::uint32_t task) {
  if (dispatch_.chooses(task)) {
    dispatch_.is_ready(task);
  } else {
    start(task);
  }
}

void EventSimulation::report_stuck() const {
  std::string why = "its lists cannot be executed under its rule";
  if (program_.rule == RunTimeRule::kNone) {
    std::vector<std::uint32_t> waits;
    waits.reserve(tasks_.size());
    for (const Task& task : tasks_) waits.push_back(task.waits);
    const std::vector<std::string> names = cycle_names(program_, graph_, waits);
    why = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) why += " -> " + names[i];
  }
  throw_bad_input(program_.schedule + " deadlocks under the executor model '" + executor_.name +
                  "': " + why);
}

std::vector<Duration> EventSimulation::delays_of_links() const {
  return shared_ ? shared_->delays() : std::vector<Duration>{};
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
