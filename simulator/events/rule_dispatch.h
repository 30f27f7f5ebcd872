// Which compute task a rank takes next when its Program has a run-time rule
// (docs/schedules.md, "Varuna").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/program.h"
#include "simulator/task_graph.h"

namespace penstock {

class RuleDispatch {
 public:
  static constexpr std::uint32_t kNoTask = 0xFFFF'FFFFU;

  RuleDispatch(const Program& program, const TaskGraph& graph);

  [[nodiscard]] std::size_t ranks() const { return ranks_.size(); }
  // The rank that computes this task; kNoTask for transfers and collectives.
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t task) const { return rank_of_task_[task]; }

  void restart();
  // The task that an idle rank starts now, which is thereby taken off its list; kNoTask when it has
  // to wait. waits[task]: how many tasks the task still waits for.
  [[nodiscard]] std::uint32_t next(std::size_t rank, const std::vector<std::uint32_t>& waits);

 private:
  struct Rank {
    std::vector<std::uint32_t> list;      // tasks in static order
    std::vector<std::uint32_t> forwards;  // those that are forwards
    std::size_t head = 0;                 // of list
    std::size_t forwards_started = 0;
    bool forward_is_next = false;  // one was moved to the front, for good
  };
  enum class Step { kTakeHead, kTakeForward, kWait };
  [[nodiscard]] bool head_ran_early(const Rank& rank) const;
  [[nodiscard]] Step step(Rank& rank, const std::vector<std::uint32_t>& waits) const;

  RunTimeRule rule_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> rank_of_task_;
  std::vector<ActionKind> kind_of_task_;
};

}  // namespace penstock
