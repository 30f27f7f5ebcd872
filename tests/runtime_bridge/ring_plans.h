// Plans for the ring model, worked out by the search from costs that are the same for every
// section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/plan_file.h"
#include "tests/runtime_bridge/ring_model.h"

namespace penstock::testing {

// With ties, the first and the last section share weights, and so do the first two.
RingModel ring_model(int sections, bool tied);

// Of a section and sample, in milliseconds: F, and B in halves of I and W; R like F. Boundaries and
// weights take about as long per hop as `transfer` says.
struct RingCosts {
  std::int64_t forward = 2, backward = 4, transfer = 1;
};

// `plan` with equal cuts and a device; memory is plenty.
PlanFile ring_plan(const RingModel& model, Plan plan, const RingCosts& costs = {},
                   const ExecutorModel& executor = {});

// P, V, D and M micro-batches of one sample per replica.
struct RingShape {
  int pipeline = 2, chunks = 1, data = 1, micro_batches = 4;
};
Plan plan_of(const std::string& schedule, const RingShape& shape);

// So many steps of the plan's samples in a plain loop, from the first weights on.
std::vector<RingStep> plain_steps(const RingModel& model, const PlanFile& file, int steps);

}  // namespace penstock::testing
