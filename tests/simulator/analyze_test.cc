#include "simulator/analyze.h"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::input_of;
using testing::lowered;
using testing::Random;
using testing::random_program;

// "busy 60, warm-up 10, drain 20": the parts that are not zero.
std::string words(const RankTime& time) {
  std::string text = "busy " + std::to_string(time.busy.count());
  const auto add = [&](const char* name, Duration part) {
    if (part != Duration{}) text += std::string(", ") + name + " " + std::to_string(part.count());
  };
  add("warm-up", time.warm_up);
  add("drain", time.drain);
  add("imbalance", time.imbalance);
  add("order", time.order);
  add("transfer", time.transfer);
  add("barrier", time.barrier);
  return text;
}

// The ranks in order, with " | " between them.
std::string explained(const Program& program, const StagePrices& prices,
                      const ExecutorModel& executor = {}) {
  std::string text;
  const Timeline timeline = simulate(program, prices, executor);
  for (const RankTime& time : attribute_idle(program, timeline, executor)) {
    text += (text.empty() ? "" : " | ") + words(time);
  }
  return text;
}

//     0    10   20   30        50        70        90
//   0: F0   F1   .    .    .    B0        B1
//   1: .    F0   F1   B0        B1        .    .
TEST_CASE("equal stages of GPipe idle in warm-up and drain only") {
  CHECK(explained(lowered("gpipe", {2, 1, 2, 0}), equal_prices(2, 1, {10, 12, 8, 0})) ==
        "busy 60, warm-up 30 | busy 60, warm-up 10, drain 20");
}

// Rank 1 takes F = 20, B = 40, rank 0 half of it:
//   0: F0 0..10, F1 ..20, B0 70..90, F2 ..100, B1 130..150, F3 ..160, B2 190..210, B3 250..270
//   1: F0 10..30, B0 ..70, F1 ..90, B1 ..130, F2 ..150, B2 ..190, F3 ..210, B3 ..250
TEST_CASE("a rank that waits in steady state for one with more work is out of balance") {
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 0});
  prices.compute[1] = equal_prices(1, 1, {20, 24, 16, 0}).compute[0];
  CHECK(explained(lowered("1f1b", {2, 1, 4, 0}), prices) ==
        "busy 120, warm-up 50, drain 70, imbalance 30 | busy 240, warm-up 10, drain 20");
}

// Micro-batch 2 is four times as long (F = B = 40, the others 10), on both ranks:
//   0: F0 0..10, F1 ..20, B0 30..40, F2 ..80, B1 ..90, B2 160..200
//   1: F0 10..20, B0 ..30, F1 ..40, B1 ..50, F2 80..120, B2 ..160
TEST_CASE("a rank that waits in steady state for one with no more work suffers from the order") {
  PipelineInput input = input_of(make_schedule("1f1b", {2, 1, 3, 0}));
  input.micro_batches[2].shape = 1;
  StagePrices prices = equal_prices(2, 1, {10, 5, 5, 0});
  const StagePrices longer = equal_prices(2, 1, {40, 20, 20, 0});
  prices.shapes = 2;
  prices.compute = {prices.compute[0], longer.compute[0], prices.compute[1], longer.compute[1]};
  prices.transfer.resize(4);
  CHECK(explained(lower({input}, {}), prices) ==
        "busy 120, warm-up 10, drain 70 | busy 120, warm-up 10, drain 40, order 30");
}

//   0: F0 0..10, F1 ..20, B0 46..66, B1 76..96    transfers of 3 end at 13 and 23, 46 and 76
//   1: F0 13..23, B0 ..43, F1 ..53, B1 ..73
TEST_CASE("what is on a link is told apart from the compute before it") {
  CHECK(explained(lowered("1f1b", {2, 1, 2, 0}), equal_prices(2, 1, {10, 12, 8, 3})) ==
        "busy 60, warm-up 23, drain 7, transfer 6 | busy 60, warm-up 10, drain 20, transfer 6");
}

// Rank 1 ends its backward at 40 and reduces until 80, rank 0 at 60 and until 65; norm until 82,
// optimizers until 88.
TEST_CASE("reductions, norm and optimizer are the barrier") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 0});
  prices.step[0].reduce_gradient.duration = Duration{5};
  prices.step[1].reduce_gradient.duration = Duration{40};
  for (StepPrice& step : prices.step) step.optimizer.duration = Duration{6};
  prices.norm.duration = Duration{2};
  const Schedule schedule = make_schedule("1f1b", {2, 1, 1, 0});
  CHECK(explained(lower({input_of(schedule)}, options), prices) ==
        "busy 36, warm-up 30, barrier 22 | busy 36, warm-up 10, barrier 42");
  // Without reductions rank 1 waits from 40 on for rank 0's backward, which ends at 60.
  for (StepPrice& step : prices.step) step.reduce_gradient = {};
  CHECK(explained(lower({input_of(schedule)}, options), prices) ==
        "busy 36, warm-up 30, barrier 2 | busy 36, warm-up 10, drain 20, barrier 2");
}

// Another pipeline with twice the micro-batches holds up the norm: F = 10, B = 20, 30 against 60.
TEST_CASE("a replica with fewer micro-batches waits for the other in its drain") {
  LoweringOptions options;
  options.step_actions = true;
  const Program program = lower({input_of(make_schedule("1f1b", {1, 1, 1, 0})),
                                 input_of(make_schedule("1f1b", {1, 1, 2, 0}))},
                                options);
  CHECK(explained(program, equal_prices(1, 1, {10, 12, 8, 0})) == "busy 30, drain 30");
}

// Rank 0's transfers take 25 and share a queue: F1's is ready at 20, starts at 35, arrives at 60.
//   1: F0 35..45, F1 60..70, B0 ..90, B1 ..110: B0's gradient arrives at 115, B1's at 140
TEST_CASE("waiting for one's turn in a queue is waiting for a link") {
  ExecutorModel executor;
  executor.queues = QueueLayout::kPerDirection;
  CHECK(explained(lowered("gpipe", {2, 1, 2, 0}), equal_prices(2, 1, {10, 12, 8, 25}), executor) ==
        "busy 60, warm-up 30, transfer 70 | busy 60, warm-up 10, drain 20, transfer 70");
}

ComputeAction forward(std::uint16_t stage, std::uint32_t m) {
  return {ActionKind::kForward, false, StageId{stage}, MicroBatchId{m}};
}

// Forwards only, four stages on three ranks, one queue per rank: 0SEND_F1 is ready at 20 and stands
// behind 3RECV_F0, which ends at 39. F = 10, c = 3.
//   0: 0F0 0..10, 0F1 ..20, 3F0 39..49, 3F1 68..78
//   1: 1F0 13..23, 1F1 42..52          the transfers between 0F1 and 3F1: 39..42, 52..55, 65..68
//   2: 2F0 26..36, 2F1 55..65
// Rank 1 spends 23..42 on transfer, though rank 2 computes meanwhile; without queues rank 1 would
// run 1F1 at 23.
TEST_CASE("what stands in a queue waits for a link, whatever others compute") {
  const Schedule schedule =
      schedule_of_lists("by-hand", 2, {0, 1, 2, 0},
                        {{forward(0, 0), forward(0, 1), forward(3, 0), forward(3, 1)},
                         {forward(1, 0), forward(1, 1)},
                         {forward(2, 0), forward(2, 1)}});
  ExecutorModel executor;
  executor.queues = QueueLayout::kPerRank;
  CHECK(explained(lower({input_of(schedule)}, {}), equal_prices(4, 1, {10, 12, 8, 3}), executor) ==
        "busy 40, warm-up 26, transfer 12 | busy 20, warm-up 10, drain 20, transfer 28 | "
        "busy 20, warm-up 30, drain 10, transfer 18");
}

// GPipe, c = 3: rank 1 starts F1 at 23, when its F0 ends and F1's activation arrives.
//   0: F0 0..10, F1 ..20, B0 56..76, B1 ..96
//   1: F0 13..23, F1 ..33, B0 ..53, B1 ..73
// Rank 0 waits from 20 to 23 for F0 of rank 1, and rank 1 from 73 to 76 for B0 of rank 0: a faster
// link for F1 or B1 alone would change nothing.
TEST_CASE("of two causes that end together the compute of the same rank counts") {
  CHECK(explained(lowered("gpipe", {2, 1, 2, 0}), equal_prices(2, 1, {10, 12, 8, 3})) ==
        "busy 60, warm-up 33, transfer 3 | busy 60, warm-up 10, drain 23, transfer 3");
}

// Rendezvous in DeepSpeed's order, c = 3, M = 2; rank 1 takes F = 20, B = 40:
//   0: F0 0..10, S 10..13, F1 ..23, [meets at 73] B0's gradient 73..76, F1's activation 76..79,
//      B0 79..99, [meets at 139] 139..142, B1 142..162
//   1: F0 13..33, B0 ..73, transfers ..76 ..79, F1 79..99, B1 ..139, transfer ..142
TEST_CASE("a rank that waits at a rendezvous waits for what its peer computes") {
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  executor.issue = IssueOrder::kDeepSpeed;
  LoweringOptions options;
  options.issue = executor.issue;
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  prices.compute[1] = equal_prices(1, 1, {20, 24, 16, 0}).compute[0];
  const Program program = lower({input_of(make_schedule("1f1b", {2, 1, 2, 0}))}, options);
  CHECK(explained(program, prices, executor) ==
        "busy 60, warm-up 50, drain 40, transfer 12 | busy 120, warm-up 10, drain 20, transfer 12");
}

TEST_CASE("two tied stages on one rank do not wait for each other") {
  LoweringOptions options;
  options.step_actions = true;
  options.optimizer = OptimizerGate::kPostValidation;
  options.tied = {{"embedding", {0, 1}}};
  StagePrices prices = equal_prices(2, 2, {20, 24, 16, 0});
  prices.tied_reduce = {{"embedding", {Duration{9}, Duration{}}}};
  const Program program = lower({input_of(make_schedule("looped-bfs", {1, 2, 1, 0}))}, options);
  CHECK(explained(program, prices) == "busy 60, barrier 9");
}

TEST_CASE("a rank without compute counts for nothing") {
  Program program = lowered("gpipe", {2, 1, 1, 0});
  program.pipelines[0].ranks = 3;
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 0});
  for (const TimelineSummary& summary :
       {simulate_summary(program, prices, {}),
        summarize(program, simulate_by_worklist(program, prices, {}))}) {
    CHECK(summary.makespan == Duration{60});
    CHECK(summary.longest_span == Duration{60});
    CHECK(summary.busy == std::vector<Duration>{Duration{30}, Duration{30}, Duration{0}});
  }
}

// Rank 1 of 1F1B starts at 10 and ends at 40, rank 0 runs from 0 to 60.
TEST_CASE("makespan is over all ranks, span is of one") {
  const TimelineSummary summary =
      simulate_summary(lowered("1f1b", {2, 1, 1, 0}), equal_prices(2, 1, {10, 12, 8, 0}), {});
  CHECK(summary.makespan == Duration{60});
  CHECK(summary.longest_span == Duration{60});
  CHECK(summary.ideal == Duration{30});
  CHECK(summary.busy == std::vector<Duration>{Duration{30}, Duration{30}});
}

TEST_CASE("busy and idle parts of every rank sum to the makespan, for random Programs") {
  Random random(9);
  for (int i = 0; i < testing::draws(3000); ++i) {
    const IssueOrder issue = random.coin() ? IssueOrder::kEager : IssueOrder::kDeepSpeed;
    const auto [program, prices] = random_program(random, {false, issue});
    ExecutorModel executor;
    if (random.coin()) {
      executor.transfer = static_cast<TransferMode>(random.between(0, 2));
      executor.queues = static_cast<QueueLayout>(random.between(0, 3));
      executor.receive_must_be_posted = random.coin();
      executor.per_action = Duration{random.between(0, 2)};
      if (deadlock(program, executor)) continue;
    }
    const Timeline timeline = simulate(program, prices, executor);
    const TimelineSummary summary = summarize(program, timeline);
    const auto times = attribute_idle(program, timeline, executor);
    REQUIRE(times.size() == static_cast<std::size_t>(program.pipelines[0].ranks));
    for (std::size_t r = 0; r < times.size(); ++r) {
      const RankTime& time = times[r];
      REQUIRE(time.busy == summary.busy[r]);
      REQUIRE(time.busy + time.warm_up + time.drain + time.imbalance + time.order + time.transfer +
                  time.barrier ==
              summary.makespan);
      for (const Duration part :
           {time.warm_up, time.drain, time.imbalance, time.order, time.transfer, time.barrier}) {
        REQUIRE(part >= Duration{});
      }
    }
  }
}

// Free transfers are never to blame, a rank with the most work never suffers from imbalance.
TEST_CASE("causes that are not there are not named") {
  Random random(10);
  for (int i = 0; i < testing::draws(1000); ++i) {
    auto [program, prices] = random_program(random, {true, IssueOrder::kEager});
    for (TransferPrice& transfer : prices.transfer) transfer = {};
    const Timeline timeline = simulate(program, prices, {});
    const TimelineSummary summary = summarize(program, timeline);
    const bool collectives = !program.groups.empty();
    for (const RankTime& time : attribute_idle(program, timeline)) {
      CHECK(time.transfer == Duration{});
      if (time.busy == summary.ideal) CHECK(time.imbalance == Duration{});
      if (!collectives && program.ranks() == 1) CHECK(time.busy == summary.makespan);
    }
  }
}

}  // namespace
}  // namespace penstock
