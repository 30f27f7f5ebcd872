// The event-queue engine: time advances from event to event. It carries out what a replay in stored
// order cannot: rules that look at the state of the run, and transfers that slow each other down.
//
// All that happens at one instant is seen by everybody who looks at that instant, so results do not
// depend on an order among equal times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/network.h"
#include "core/values/program.h"
#include "core/values/timeline.h"
#include "simulator/events/action_durations.h"
#include "simulator/events/event_queue.h"
#include "simulator/events/rule_dispatch.h"
#include "simulator/events/shared_transfers.h"
#include "simulator/step_graph.h"

namespace penstock {

// Wires, and how much every action sends over them.
struct Contention {
  Network network;          // of this Program
  TransferBytes transfers;  // alone, an action's transfer takes its duration
};

// Prepared once for a Program, run for any number of durations. Not to be shared by threads.
class EventSimulation {
 public:
  // Refers to the Program and to the Contention (none: transfers never slow each other down).
  // Error{kBadInput} when the Program has a run-time rule and transfers of the executor model do
  // more than take time: sends move with their compute, so there is no order to queue them in.
  EventSimulation(const Program& program, const ExecutorModel& executor,
                  const Contention* contention = nullptr);

  // Error{kBadInput} when the durations are not one per action, are negative or add up to more than
  // 64 bits, and when actions wait for each other.
  [[nodiscard]] Timeline run(const ActionDurations& durations);
  // Only Timeline::step_end.
  [[nodiscard]] SimTime step_end(const ActionDurations& durations);

  // Of the last run: how many ends were handled, those of tasks and those of latencies; and how
  // much longer transfers took because a link was full, per link.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::vector<Duration> delays_of_links() const;

 private:
  using Slot = EventQueue::Slot;
  using Time = EventQueue::Time;
  enum class Phase : std::uint8_t { kAlone, kLatency, kFlowing };
  struct Running {  // by slot
    std::uint32_t task = 0;
    Phase phase = Phase::kAlone;
  };
  // All that the loop needs of a task, in half a cache line.
  struct alignas(32) Task {
    Time duration = 0;
    std::uint32_t waits = 0;         // how many others it still waits for
    std::uint32_t transfer = kNone;  // index into transfers_
    // What waits for it: the first two, seldom more, and the others in StepGraph::next.
    std::uint32_t next = kNone, second_next = kNone;
    std::uint32_t more_begin = 0, more_end = 0;
  };
  static constexpr std::uint32_t kNone = 0xFFFF'FFFFU;
  // A way over shared links with a load; many tasks have the same.
  struct SharedTransfer {
    std::uint32_t route = 0;
    Time latency = 0;
    double bytes = 0.0;
  };

  void note_transfers(const Contention& contention);
  void run_all(const ActionDurations& durations);
  void run_alone();
  void run_in_any_order();
  void run_by_rule();
  template <class HandOn>
  void finish(std::uint32_t task, Time start, const HandOn& hand_on);
  void finish_released();
  void will_be_ready(std::uint32_t task);
  void end_of_rank(std::uint32_t task);
  void restart(const ActionDurations& durations);
  void advance();
  void handle_first();
  void start(std::uint32_t task);
  void begin_flow(Slot slot, std::uint32_t task);
  void end(std::uint32_t task);
  void release_if_ready(std::uint32_t task);
  void release(std::uint32_t task);
  [[noreturn]] void report_stuck() const;
  [[nodiscard]] Timeline timeline() const;

  const Program& program_;
  ExecutorModel executor_;
  StepGraph graph_;
  RuleDispatch dispatch_;
  std::optional<SharedTransfers> shared_;  // none without contention
  std::vector<SharedTransfer> transfers_;
  std::vector<Task> tasks_;
  bool keeps_times_ = false;
  std::vector<Time> start_, end_;  // by task, when they are kept

  // Without contention: when everything could start so far, what has all that it waits for and is
  // not chosen, what every rank does, and the last end.
  std::vector<Time> ready_at_;
  std::vector<std::uint32_t> released_, task_of_rank_;
  Time last_end_ = 0;

  Time now_ = 0;
  std::uint64_t events_ = 0;
  std::size_t tasks_left_ = 0;
  EventQueue queue_;
  std::vector<Running> running_;
  Slot open_slot_ = 0;  // of the task that has just ended; the next one may take it
  bool slot_is_open_ = false;
};

// As priced, nobody shares a link.
Timeline simulate_by_events(const Program& program, const StagePrices& prices,
                            const ExecutorModel& executor);

}  // namespace penstock
