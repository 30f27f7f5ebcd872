// The event-queue engine: time advances from event to event. It carries out what a replay in stored
// order cannot: rules that look at the state of the run.
//
// All that happens at one instant is seen by everybody who looks at that instant, so results do not
// depend on an order among equal times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/executor_model.h"
#include "core/program.h"
#include "core/timeline.h"
#include "simulator/events/action_durations.h"
#include "simulator/events/event_queue.h"
#include "simulator/events/rule_dispatch.h"
#include "simulator/task_graph.h"

namespace penstock {

// Prepared once for a Program, run for any number of durations. Not shared between threads.
class EventSimulation {
 public:
  // Error{kBadInput} when the Program has a run-time rule and transfers of the executor model do
  // more than take time: sends move with their compute, so there is no order to queue them in.
  EventSimulation(const Program& program, const ExecutorModel& executor);

  // Error{kBadInput} when the durations are not one per action, are negative or add up to more than
  // 64 bits, and when actions wait for each other.
  [[nodiscard]] Timeline run(const ActionDurations& durations);
  // Only the end of the step; counts().
  [[nodiscard]] SimTime run_to_end(const ActionDurations& durations);

  [[nodiscard]] std::uint64_t events() const { return events_; }  // of the last run

 private:
  void restart(const ActionDurations& durations);
  void start(std::uint32_t task);
  void end_first();
  void release(std::uint32_t task);
  void let_idle_ranks_look();
  [[noreturn]] void report_stuck() const;
  [[nodiscard]] Timeline timeline() const;

  const Program& program_;
  ExecutorModel executor_;
  TaskGraph graph_;
  RuleDispatch dispatch_;
  bool has_rule_;

  std::int64_t now_ = 0;
  std::uint64_t events_ = 0;
  EventQueue queue_;
  EventQueue::Slot ended_slot_ = 0;  // whose end is being handled; the next task may take it
  bool slot_is_open_ = false;
  std::vector<std::uint32_t> task_of_slot_;
  std::vector<std::uint32_t> waits_;       // per task: how many others it still waits for
  std::vector<std::int64_t> duration_;     // per task
  std::vector<std::int64_t> start_, end_;  // per task
  std::vector<bool> is_busy_, looks_;      // per rank: computes; something happened to it
};

// As priced.
Timeline simulate_by_events(const Program& program, const StagePrices& prices,
                            const ExecutorModel& executor);

}  // namespace penstock
