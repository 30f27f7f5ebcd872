// A plan file small enough to be replayed on paper.
#pragma once

#include "core/values/plan_file.h"

namespace penstock::tests {

// Two ranks, one micro-batch: F 1 and 3 ms, B 2 and 6 ms, 0.5 ms each way; no step actions.
//   rank 0: F0 [0, 1]                              B0 [11, 13]
//   rank 1:       F0 [1.5, 4.5]  B0 [4.5, 10.5]
inline PlanFile two_ranks() {
  using namespace std::chrono_literals;
  PlanFile file;
  file.section_names = {"first", "second"};
  file.plan.pipeline = 2;
  file.plan.cuts = {0, 1, 2};
  file.prices.stages = 2;
  file.prices.compute.resize(2);
  file.prices.compute[0].forward.duration = 1ms;
  file.prices.compute[1].forward.duration = 3ms;
  file.prices.compute[0].fused_backward.duration = 2ms;
  file.prices.compute[1].fused_backward.duration = 6ms;
  file.prices.transfer.resize(2);
  file.prices.transfer[0].activation.duration = 500us;
  file.prices.transfer[0].gradient.duration = 500us;
  file.prices.step.resize(2);
  file.cluster.memory_per_device = Bytes{1000};

  Program& program = file.program;
  program.schedule = "1f1b";
  Pipeline pipeline;
  pipeline.ranks = pipeline.stages = 2;
  program.pipelines = {pipeline};
  program.micro_batches = {MicroBatch{}};
  program.stages.resize(2);
  program.stages[0].next = StageId{1};
  program.stages[1].rank = RankId{1};
  program.stages[1].previous = StageId{0};
  const auto add = [&](ActionKind kind, int stage, std::uint32_t waits_for) {
    program.actions.push_back(
        {MicroBatchId{0}, waits_for, kNoGroup, StageId{static_cast<std::uint16_t>(stage)}, kind});
  };
  add(ActionKind::kForward, 0, kWaitsForNothing);
  add(ActionKind::kSendActivation, 0, 0);
  add(ActionKind::kReceiveActivation, 1, 1);
  add(ActionKind::kForward, 1, 2);
  add(ActionKind::kFusedBackward, 1, kWaitsForNothing);
  add(ActionKind::kSendGradient, 1, 4);
  add(ActionKind::kReceiveGradient, 0, 5);
  add(ActionKind::kFusedBackward, 0, 6);
  return file;
}

}  // namespace penstock::tests
