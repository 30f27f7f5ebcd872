#include "simulator/events/simulate_by_events.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "simulator/replay.h"

namespace penstock {
namespace {

SimTime time_of(std::int64_t ns) { return SimTime{Duration{ns}}; }

TaskGraph graph_of(const Program& program, const ExecutorModel& executor) {
  if (program.rule != RunTimeRule::kNone && !straight_replay_is_exact(executor)) {
    throw_bad_input(program.schedule +
                    ": its order changes while it runs, which the executor model '" +
                    executor.name +
                    "' cannot carry out; use one with asynchronous transfers, without queues and "
                    "without posted receives");
  }
  return build_task_graph(program, executor);
}

}  // namespace

EventSimulation::EventSimulation(const Program& program, const ExecutorModel& executor,
                                 const Contention* contention)
    : program_(program),
      executor_(executor),
      graph_(graph_of(program, executor)),
      dispatch_(program, graph_),
      duration_(graph_.action_of_task.size()),
      start_(duration_.size()),
      end_(duration_.size()) {
  if (contention != nullptr) note_routes(*contention);
}

void EventSimulation::note_routes(const Contention& contention) {
  const Network& network = contention.network;
  if (network.activation.size() != program_.stages.size() ||
      network.gradient.size() != program_.stages.size() ||
      contention.transfers.size() != program_.actions.size()) {
    throw Error(ErrorKind::kInternal, "contention: the network is that of another program");
  }
  shared_.emplace(network);
  routed_.resize(duration_.size());
  for (std::size_t task = 0; task < routed_.size(); ++task) {
    const std::uint32_t index = graph_.action_of_task[task];
    const Action& action = program_.actions[index];
    if (!is_send(action.kind) || contention.transfers[index].count <= 0) continue;
    const auto& routes =
        action.kind == ActionKind::kSendActivation ? network.activation : network.gradient;
    const std::uint32_t route = routes[action.stage.value];
    if (route == kNoRoute) continue;
    const Duration latency = network.routes[route].latency + executor_.per_transfer;
    routed_[task] = {route, latency.count(),
                     static_cast<double>(contention.transfers[index].count)};
  }
}

Timeline EventSimulation::run(const ActionDurations& durations) {
  (void)step_end(durations);
  return timeline();
}

SimTime EventSimulation::step_end(const ActionDurations& durations) {
  restart(durations);
  for (std::uint32_t task = 0; task < waits_.size(); ++task) {
    if (waits_[task] == 0 && !dispatch_.chooses(task)) start(task);
  }
  const auto start_chosen = [this](std::uint32_t task) { start(task); };
  dispatch_.start_next(waits_, start_chosen);
  while (!queue_.empty()) {
    advance();
    dispatch_.start_next(waits_, start_chosen);
  }
  if (tasks_left_ > 0) report_stuck();
  return time_of(now_) + executor_.per_step;
}

void EventSimulation::restart(const ActionDurations& durations) {
  if (durations.size() != program_.actions.size()) {
    throw_bad_input("durations: expected one per action (" +
                    std::to_string(program_.actions.size()) + "), found " +
                    std::to_string(durations.size()));
  }
  Time sum = 0;
  for (std::uint32_t task = 0; task < duration_.size(); ++task) {
    const std::uint32_t action = graph_.action_of_task[task];
    duration_[task] = durations[action].count();
    if (duration_[task] < 0 || __builtin_add_overflow(sum, duration_[task], &sum)) {
      throw_bad_input("durations: they must be at least 0 and add up to what 64 bits hold; " +
                      name_of(program_, program_.actions[action]) + " takes " +
                      std::to_string(duration_[task]) + " ns");
    }
  }
  now_ = 0;
  events_ = 0;
  tasks_left_ = duration_.size();
  queue_.clear();
  dispatch_.restart();
  if (shared_) shared_->clear();
  waits_ = graph_.predecessors;
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
    begin_flow(slot, running.task, duration_[running.task] - (now_ - start_[running.task]));
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
  start_[task] = now_;
  const Time duration = duration_[task];
  if (!routed_.empty() && routed_[task].route != kNoRoute && duration > routed_[task].latency) {
    const Time latency = routed_[task].latency;
    if (latency == 0) return begin_flow(slot, task, duration);
    running_[slot] = {task, Phase::kLatency};
    queue_.set(slot, now_ + latency);
    return;
  }
  running_[slot] = {task, Phase::kAlone};
  queue_.set(slot, now_ + duration);
}

void EventSimulation::begin_flow(Slot slot, std::uint32_t task, Time alone) {
  running_[slot] = {task, Phase::kFlowing};
  shared_->begin(slot, routed_[task].route, routed_[task].bytes, alone, now_, queue_);
}

void EventSimulation::end(std::uint32_t task) {
  end_[task] = now_;
  --tasks_left_;
  if (dispatch_.chooses(task)) dispatch_.ended(task);
  for (std::uint32_t e = graph_.row[task]; e < graph_.row[task + 1]; ++e) {
    const std::uint32_t next = graph_.next[e];
    if (--waits_[next] > 0) continue;
    if (dispatch_.chooses(next)) {
      dispatch_.may_start(next);
    } else {
      start(next);
    }
  }
}

void EventSimulation::report_stuck() const {
  std::string why = "its lists cannot be carried out under its rule";
  if (program_.rule == RunTimeRule::kNone) {
    const std::vector<std::string> names = cycle_names(program_, graph_, waits_);
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
