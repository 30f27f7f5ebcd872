// Which compute task a rank takes next when its Program has a run-time rule
// (docs/schedules.md, "Varuna").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "simulator/events/event_queue.h"
#include "simulator/step_graph.h"

namespace penstock {

class RuleDispatch {
 public:
  using Time = EventQueue::Time;

  RuleDispatch(const Program& program, const StepGraph& graph);

  void restart();
  [[nodiscard]] bool has_rule() const { return rule_ != RunTimeRule::kNone; }
  // Whether a rank chooses when the task starts.
  [[nodiscard]] bool chooses(std::uint32_t task) const {
    return !rank_of_task_.empty() && rank_of_task_[task] != kNone;
  }
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t task) const { return rank_of_task_[task]; }
  [[nodiscard]] bool is_busy(std::uint32_t rank) const { return ranks_[rank].is_busy; }
  // From then on everything that the task waits for has ended.
  void ready_from(std::uint32_t task, Time time) { ready_at_[task] = time; }
  // It has ended now.
  void is_ready(std::uint32_t task) {
    ready_from(task, 0);
    look_again(rank_of_task_[task]);
  }
  void has_ended(std::uint32_t task) {
    ranks_[rank_of_task_[task]].is_busy = false;
    look_again(rank_of_task_[task]);
  }
  void look_again(std::uint32_t rank) {
    if (ranks_[rank].is_looking) return;
    ranks_[rank].is_looking = true;
    looking_.push_back(rank);
  }
  // Calls start(task) for what idle ranks begin now, wait(rank, time) for those that must wait,
  // with the next time that is known to matter to them (kNever: none is).
  template <class Start, class Wait>
  void start_next(Time now, Start start, Wait wait) {
    now_ = now;
    for (const std::uint32_t r : looking_) {
      Rank& rank = ranks_[r];
      rank.is_looking = false;
      if (rank.is_busy) continue;
      const std::uint32_t task = next(rank);
      if (task == kNone) {
        wait(r, next_arrival(rank));
        continue;
      }
      rank.is_busy = true;
      start(task);
    }
    looking_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFFU;
  struct Rank {
    std::vector<std::uint32_t> list;      // tasks in static order
    std::vector<std::uint32_t> forwards;  // those that are forwards
    std::size_t head = 0;                 // of list
    std::size_t forwards_started = 0;
    bool forward_is_next = false;  // one was moved to the front, for good
    bool is_busy = false, is_looking = false;
  };
  enum class Step { kTakeHead, kTakeForward, kWait };

  [[nodiscard]] bool ready(std::uint32_t task) const { return ready_at_[task] <= now_; }
  // The task that an idle rank starts now, taken off its list; kNone when it has to wait.
  [[nodiscard]] std::uint32_t next(Rank& rank) const;
  [[nodiscard]] Time next_arrival(const Rank& rank) const;
  [[nodiscard]] bool head_ran_early(const Rank& rank) const;
  [[nodiscard]] Step step(Rank& rank) const;

  RunTimeRule rule_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> looking_;       // ranks to which something happened
  std::vector<std::uint32_t> rank_of_task_;  // kNone: not compute; empty without a rule
  std::vector<ActionKind> kind_of_task_;
  std::vector<Time> ready_at_;  // by task; kNever while that is not known
  Time now_ = 0;
};

}  // namespace penstock
