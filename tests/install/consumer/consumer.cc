// What a stranger's program does with Penstock's libraries: a GPipe step of four equal stages and
// eight micro-batches.
#include <chrono>
#include <iostream>

#include "core/values/json.h"
#include "core/values/units.h"
#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"

int main() {
  using namespace std::chrono_literals;
  constexpr int kStages = 4;
  constexpr int kMicroBatches = 8;

  penstock::PipelineInput pipeline;
  pipeline.schedule =
      penstock::make_schedule("gpipe", {.ranks = kStages, .micro_batches = kMicroBatches});
  pipeline.micro_batches.resize(kMicroBatches);

  penstock::StagePrices prices;
  prices.stages = kStages;
  prices.compute.resize(kStages);
  prices.transfer.resize(kStages);
  prices.step.resize(kStages);
  for (penstock::ComputePrice& price : prices.compute) {
    price.forward.duration = 1ms;
    price.fused_backward.duration = 2ms;
  }

  const penstock::Timeline timeline =
      penstock::simulate(penstock::lower({pipeline}, {}), prices, {});
  penstock::Json answer = penstock::Json::object();
  answer.set("step_time", penstock::to_text(timeline.step_end.time_since_epoch()));
  std::cout << penstock::to_text(answer) << '\n';
}
