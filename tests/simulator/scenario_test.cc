#include "simulator/scenario.h"

#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/events/expand_replicas.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::lowered;

Scenario slow_rank(int rank, const char* factor) { return {{{rank, *parse_factor(factor)}}, {}}; }
Scenario slow_link(int one, int other, const char* factor) {
  return {{}, {{one, other, *parse_factor(factor)}}};
}

Duration makespan(const Program& program, const StagePrices& prices) {
  return simulate_summary(program, prices, {}).makespan;
}

// 1F1B, F = 10 and B = 20 but F' = 13 and B' = 26 on rank r, no transfers. The slow rank starts
// after r forwards and ends r backwards before the end. It never waits in the steady state, but
// P - 1 - r ranks lie behind it: a micro-batch is back from there after (P - 1 - r)(F + B), when
// the slow rank has done P - 1 - r more forwards at the start, or backwards at the end.
TEST_CASE("a slow rank sets the pace of 1F1B") {
  constexpr int kRanks = 4, kMicroBatches = 8;
  const Program program = lowered("1f1b", {kRanks, 1, kMicroBatches, 0});
  const StagePrices prices = equal_prices(kRanks, 1, {10, 12, 8, 0});
  CHECK(makespan(program, prices) == Duration{(kMicroBatches + kRanks - 1) * 30});
  for (int r = 0; r < kRanks; ++r) {
    const int behind = kRanks - 1 - r;
    const int waits = behind * (30 - 13) + behind * (30 - 26);
    CHECK(makespan(program, slowed(prices, program, slow_rank(r, "1.3"))) ==
          Duration{r * 30 + kMicroBatches * 39 + waits});
  }
}

// F = 10, B = 20, c = 6: rank 1 runs F0 16-26, B0 26-46, F1 46-56, B1 56-76, whose gradient is back
// at 82; rank 0 ends its B1 at 102. With c = 3 it is 96.
TEST_CASE("a slow link delays both directions") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  CHECK(makespan(program, prices) == Duration{96});
  CHECK(makespan(program, slowed(prices, program, slow_link(0, 1, "2"))) == Duration{102});
  CHECK(makespan(program, slowed(prices, program, slow_link(1, 0, "2"))) == Duration{102});
}

// Three ranks of two chunks: stages 0 1 2 | 3 4 5; only the way from stage 2 to 3 joins ranks 2, 0.
TEST_CASE("with chunks a rank has several stages, and a link may close the ring") {
  const Program program = lowered("interleaved", {3, 2, 6, 0});
  const StagePrices prices = equal_prices(6, 2, {20, 20, 20, 10});
  const StagePrices rank = slowed(prices, program, slow_rank(1, "1.5"));
  const StagePrices link = slowed(prices, program, slow_link(0, 2, "1.5"));
  for (std::size_t s = 0; s < 6; ++s) {
    CHECK(rank.compute[s].forward.duration == Duration{s % 3 == 1 ? 15 : 10});
    CHECK(rank.compute[s].fused_backward.duration == Duration{s % 3 == 1 ? 30 : 20});
    CHECK(rank.transfer[s] == prices.transfer[s]);
    CHECK(link.compute[s] == prices.compute[s]);
    CHECK(link.transfer[s].activation.duration ==
          Duration{s == 2 ? 15 : prices.transfer[s].activation.duration.count()});
    CHECK(link.transfer[s].gradient.duration == link.transfer[s].activation.duration);
  }
}

TEST_CASE("spreads and the optimizer are slowed in proportion, reductions are not") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  prices.compute[1].forward.spread = Duration{3};
  prices.step[1].optimizer.duration = Duration{4};
  prices.step[1].reduce_gradient.duration = Duration{5};
  const StagePrices slow = slowed(prices, program, slow_rank(1, "2"));
  CHECK(slow.compute[1].forward == Price{Duration{20}, Duration{6}});
  CHECK(slow.step[1].optimizer.duration == Duration{8});
  CHECK(slow.step[1].reduce_gradient.duration == Duration{5});
  CHECK(slow.compute[0] == prices.compute[0]);
}

// What docs/cost_model.md says of replicas: rank 1 slow in both, or in the second alone.
TEST_CASE("where replicas reduce together, one slow replica is as bad as all") {
  PipelineInput input = testing::input_of(make_schedule("1f1b", {3, 1, 6, 0}));
  input.replicas = 2;
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  const Program program = lower({input}, options), all = expand_replicas(program);
  StagePrices prices = equal_prices(3, 1, {10, 12, 8, 3});
  for (StepPrice& step : prices.step) step.reduce_gradient.duration = Duration{5};
  ActionDurations durations = action_durations(all, prices, {});
  slow_down(durations, all, RankId{3 + 1}, 1.5);
  const Timeline one_slow = EventSimulation(all, {}).run(durations);
  CHECK(summarize(all, one_slow).makespan ==
        makespan(program, slowed(prices, program, slow_rank(1, "1.5"))));
}

std::string refusal(const Scenario& scenario) {
  const Program program = lowered("1f1b", {4, 1, 4, 0});
  try {
    (void)slowed(equal_prices(4, 1, {10, 12, 8, 3}), program, scenario);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    CHECK(why_not_slowed(program, scenario) == error.what());
    return error.what();
  }
  return "";
}

TEST_CASE("what the pipeline does not have cannot be slow") {
  CHECK(refusal(slow_rank(4, "2")) == "slow rank 4: the pipeline has ranks 0 to 3");
  CHECK(refusal(slow_rank(-1, "2")) == "slow rank -1: the pipeline has ranks 0 to 3");
  CHECK(refusal(slow_link(3, 4, "2")) == "slow rank 4: the pipeline has ranks 0 to 3");
  CHECK(refusal(slow_link(0, 2, "2")) ==
        "slow link 0-2: no stage of one rank sends to a stage of the other");
  CHECK(refusal(slow_link(1, 1, "2")) ==
        "slow link 1-1: no stage of one rank sends to a stage of the other");
}

}  // namespace
}  // namespace penstock
