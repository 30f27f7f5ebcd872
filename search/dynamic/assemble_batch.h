// From micro-batches, replicas and orders to an ordinary Plan with its Program: what the planner's
// short cuts are judged by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/dynamic/plan_batch.h"
#include "search/dynamic/replica_replays.h"
#include "search/plan_program.h"

namespace penstock {

// A way to run a batch: what every replica takes, in which order, under which schedule.
struct BatchChoice {
  std::string recompute;  // mode
  bool recomputes = false;
  BatchSchedule schedule;
  std::vector<std::vector<int>> replicas;  // micro-batches by place, in the order in which they run
};

// The same with all that follows from it.
struct AssembledBatch {
  Plan plan;
  PlanSchedules schedules;
  StagePricing pricing;
  Program program;
};

AssembledBatch assemble_batch(const BatchQuestion& question, const BatchChoice& choice,
                              const std::vector<FormedMicroBatch>& micro_batches,
                              const ShapeTable& shapes, const ReplicaReplays& replays);

// What it takes and needs; nothing when its transfers deadlock under the question's executor.
struct JudgedBatch {
  Duration step_time{};
  std::int64_t need = 0;  // in the measure of ShapeTable
};
std::optional<JudgedBatch> judge_batch(const BatchQuestion& question,
                                       const AssembledBatch& assembled, const ShapeTable& shapes);

// Everything about it, with prices_of() the costs.
EvaluatedPlan evaluate_batch(const BatchQuestion& question, AssembledBatch assembled,
                             const ShapeCosts& costs, bool recomputes);

}  // namespace penstock
