// Replicas that stand on their own take the times of the one that stood for them.
#include "simulator/events/expand_replicas.h"

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::input_of;
using testing::PricedProgram;
using testing::Random;

TEST_CASE("expanded replicas take the same times, under both engines") {
  Random random(31);
  for (int round = 0; round < testing::draws(300); ++round) {
    PricedProgram priced = testing::random_program(random);
    for (Pipeline& pipeline : priced.program.pipelines) pipeline.replicas = random.between(1, 3);
    const Program all = expand_replicas(priced.program);
    const Timeline one = simulate(priced.program, priced.prices, {});
    const Timeline each = simulate(all, priced.prices, {});
    CHECK(each.step_end == one.step_end);
    CHECK(simulate_by_events(all, priced.prices, {}) == each);
    std::size_t i = 0;  // copies stand together, OVERLAP pairs stay pairs
    for (std::size_t k = 0; k < one.start.size(); ++k) {
      const bool pair = priced.program.actions[k].overlaps_next;
      const Stage& stage = priced.program.stages[priced.program.actions[k].stage.value];
      const int copies =
          priced.program.pipelines[static_cast<std::size_t>(stage.pipeline)].replicas;
      for (int c = 0; c < copies; ++c) {
        for (std::size_t member = 0; member < (pair ? 2U : 1U); ++member, ++i) {
          CHECK(each.start[i] == one.start[k + member]);
          CHECK(each.end[i] == one.end[k + member]);
        }
      }
      if (pair) ++k;
    }
    CHECK(i == each.start.size());
  }
}

// Two replicas of one rank and one micro-batch: F = 10, B = 20, then the gradients are reduced in
// 5, the optimizer takes 6. The second replica computes 1.5 times as long: 45 + 5, and its
// optimizer 9.
TEST_CASE("a collective ends for all when the last replica has posted") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  options.optimizer = OptimizerGate::kPostValidation;
  PipelineInput input = input_of(make_schedule("1f1b", {1, 1, 1, 0}));
  input.replicas = 2;
  const Program program = expand_replicas(lower({input}, options));
  StagePrices prices = equal_prices(1, 1, {10, 12, 8, 0});
  prices.step[0].reduce_gradient.duration = Duration{5};
  prices.step[0].optimizer.duration = Duration{6};
  ActionDurations durations = action_durations(program, prices, {});
  slow_down(durations, program, RankId{1}, 1.5);
  const Timeline timeline = EventSimulation(program, {}).run(durations);
  std::string ends;
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    ends += name_of(program, program.actions[i]) + ' ' +
            std::to_string(timeline.end[i].time_since_epoch().count()) + "; ";
  }
  CHECK(ends ==
        "0F0 10; 1F0 15; 0B0 30; 1B0 45; 0REDUCE_GRAD 50; 1REDUCE_GRAD 50; 0OPT 56; 1OPT 59; ");
}

TEST_CASE("more stages than a Program can hold are refused") {
  PipelineInput input = input_of(make_schedule("gpipe", {4, 1, 1, 0}));
  input.replicas = 20'000;
  CHECK_THROWS_AS((void)expand_replicas(lower({input}, {})), Error);
}

}  // namespace
}  // namespace penstock
