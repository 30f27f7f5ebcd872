// A Program under an executor model as a plain graph of tasks: what must end before what starts. A
// send and its receive are one task, so are the members of an OVERLAP, and those of a collective;
// queues and streams add edges between neighbours. The general engine walks it, and deadlocks are
// its cycles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"

namespace penstock {

struct StepGraph {
  // The action that stands for each task (a send for its transfer, a collective's first member).
  std::vector<std::uint32_t> action_of_task;
  std::vector<std::uint32_t> task_of_action;
  // Edges in compressed rows: task t precedes next[row[t]] .. next[row[t + 1] - 1].
  std::vector<std::uint32_t> row, next;
  std::vector<std::uint32_t> predecessors;  // how many edges end in each task
};

StepGraph step_graph(const Program& program, const ExecutorModel& executor);

// A cycle among the tasks that were left when no more could run (predecessors_left > 0).
std::vector<std::string> cycle_names(const Program& program, const StepGraph& graph,
                                     const std::vector<std::uint32_t>& predecessors_left);

}  // namespace penstock
