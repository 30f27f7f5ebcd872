#include "studies/step_parts.h"

#include <doctest/doctest.h>

#include "tests/studies/two_ranks.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

const StepPart& part(const std::vector<StepPart>& parts, const std::string& name) {
  for (const StepPart& one : parts) {
    if (one.name == name) return one;
  }
  FAIL("no part " << name);
  return parts.front();
}

}  // namespace

// Rank 1 computes 3 + 6 ms; it waits for 1 ms of rank 0 and 0.5 ms of a link, and at the end for
// 0.5 ms of a link and 2 ms of rank 0.
TEST_CASE("the parts of the busiest rank sum to the step, and each is taken away by itself") {
  PlanFile file = tests::two_ranks();
  file.executor.per_step = 1ms;
  const std::vector<StepPart> parts = step_parts(file, replay_plan_file(file));
  Duration sum{};
  for (const StepPart& one : parts) sum += one.time;
  CHECK(sum == 14ms);
  CHECK(part(parts, "forward").time == 3ms);
  CHECK(part(parts, "forward").step_if_zero == 10ms);  // 0.5 + 6 + 0.5 + 2, and 1 per step
  CHECK(part(parts, "backward").time == 6ms);
  CHECK(part(parts, "backward").step_if_zero == 6ms);  // 1 + 0.5 + 3 + 0.5, and 1
  CHECK(part(parts, "optimizer").step_if_zero == 14ms);
  CHECK(part(parts, "transfer").time == 1ms);
  CHECK(part(parts, "transfer").step_if_zero == 13ms);
  CHECK_FALSE(part(parts, "transfer").is_bound);
  CHECK(part(parts, "warm-up").time == 1ms);
  CHECK(part(parts, "warm-up").step_if_zero == 13ms);
  CHECK(part(parts, "warm-up").is_bound);
  CHECK(part(parts, "drain").time == 2ms);
  CHECK(part(parts, "drain").step_if_zero == 12ms);
  CHECK(part(parts, "fixed").time == 1ms);
  CHECK(part(parts, "fixed").step_if_zero == 13ms);
}

// The backward becomes I and W, of 4 and 2 ms on rank 1 and of 1 ms each on rank 0:
//   rank 0: F0 [0, 1]                                     I0 [9, 10]  W0 [10, 11]
//   rank 1:       F0 [1.5, 4.5]  I0 [4.5, 8.5]  W0 [8.5, 10.5]
TEST_CASE("weight gradients are a part of their own") {
  PlanFile file = tests::two_ranks();
  const auto split = [&](std::size_t stage, Duration input, Duration weight) {
    ComputePrice& price = file.prices.compute[stage];
    price.fused_backward = {};
    price.input_gradient.duration = input;
    price.weight_gradient.duration = weight;
  };
  split(0, 1ms, 1ms);
  split(1, 4ms, 2ms);
  std::vector<Action>& actions = file.program.actions;
  actions[4].kind = ActionKind::kInputGradient;
  actions[7].kind = ActionKind::kInputGradient;
  Action weight = actions[4];
  weight.kind = ActionKind::kWeightGradient;
  weight.waits_for = kWaitsForNothing;
  actions.push_back(weight);
  weight.stage = StageId{0};
  actions.push_back(weight);
  const std::vector<StepPart> parts = step_parts(file, replay_plan_file(file));
  CHECK(part(parts, "input gradient").time == 4ms);
  CHECK(part(parts, "weight gradient").time == 2ms);
  CHECK(part(parts, "weight gradient").step_if_zero == 10ms);
}

// One rank, F = 3, I = 2, W = 2, B = 4 ms; a forward beside a backward gains 2 ms:
//   F0 [0, 3]  F1 and B0 [3, 8]  I1 [8, 10]  W1 [10, 12]
TEST_CASE("without weight gradients, pairs still gain what they gained") {
  PlanFile file = tests::two_ranks();
  file.plan.pipeline = 1;
  file.plan.cuts = {0, 2};
  file.prices.stages = 1;
  file.prices.compute.resize(1);
  ComputePrice& price = file.prices.compute.front();
  price.forward.duration = 3ms;
  price.input_gradient.duration = price.weight_gradient.duration = 2ms;
  price.fused_backward.duration = 4ms;
  price.overlap_gain = 2ms;
  file.prices.transfer.resize(1);
  file.prices.step.resize(1);
  Program& program = file.program;
  program.pipelines.front().ranks = program.pipelines.front().stages = 1;
  program.micro_batches.resize(2);
  program.stages = {Stage{}};
  program.actions.clear();
  const auto add = [&](ActionKind kind, std::uint32_t micro_batch) {
    program.actions.push_back(
        {MicroBatchId{micro_batch}, kWaitsForNothing, kNoGroup, StageId{0}, kind});
  };
  add(ActionKind::kForward, 0);
  add(ActionKind::kForward, 1);
  program.actions.back().overlaps_next = true;
  add(ActionKind::kFusedBackward, 0);
  add(ActionKind::kInputGradient, 1);
  add(ActionKind::kWeightGradient, 1);
  const Replayed replayed = replay_plan_file(file);
  CHECK(replayed.evaluation.makespan == 12ms);
  const std::vector<StepPart> parts = step_parts(file, replayed);
  CHECK(part(parts, "weight gradient").time == 2ms);
  CHECK(part(parts, "weight gradient").step_if_zero == 10ms);
}
