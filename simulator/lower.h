// Schedule -> Program: adds sends and receives, recomputes, and what ends a step (reductions, norm,
// optimizer, ZeRO-1 gather), and stores everything in an order in which each action follows what
// it waits for (docs/schedules.md, "Lowering").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/schedule.h"

namespace penstock {

// One distinct pipeline to lower. All pipelines of a Program share stage count and placement.
struct PipelineInput {
  Schedule schedule;
  std::vector<MicroBatch> micro_batches;  // schedule.micro_batches entries
  int replicas = 1;
};

// Stages that hold copies of the same weights and reduce their gradients together.
struct TiedStages {
  std::string name;
  std::vector<int> stages;  // ascending, at least two
};

struct LoweringOptions {
  bool recompute = false;  // an R before every backward
  bool transfers = true;   // SEND and RECV between ranks
  IssueOrder issue = IssueOrder::kEager;
  // What ends the step; without it a Program holds compute and transfers only.
  bool step_actions = false;
  bool reduce_gradients = false;  // REDUCE_GRAD: there are several replicas
  std::vector<TiedStages> tied;   // TIED_REDUCE
  bool unshard = false;           // UNSHARD after OPT: ZeRO-1
  bool offload = false;           // STORE before OPT, LOAD behind it: the host updates
  OptimizerGate optimizer = OptimizerGate::kGlobalBarrier;
};

// Error{kBadInput} when the lists cannot be carried out (with the actions that wait for each
// other).
Program lower(const std::vector<PipelineInput>& pipelines, const LoweringOptions& options);

// How many actions lower() makes of one pipeline, without those that end the step; counted block by
// block.
std::int64_t lowered_actions(const Schedule& schedule, const LoweringOptions& options);

}  // namespace penstock
