// What executor models do to one Program, worked out on paper; deadlocks by name.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/executor_model.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"
#include "tests/core/messages.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::input_of;
using testing::lowered;
using testing::RankCosts;

Program lower_for(std::string_view schedule, const ScheduleShape& shape,
                  const ExecutorModel& executor) {
  LoweringOptions options;
  options.issue = executor.issue;
  return lower({input_of(make_schedule(schedule, shape))}, options);
}

Duration makespan(const Program& program, const StagePrices& prices,
                  const ExecutorModel& executor) {
  return simulate_summary(program, prices, executor).makespan;
}

// "1F1 44..54" for the named action.
std::string times(const Program& program, const Timeline& timeline, const std::string& name) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (name_of(program, program.actions[i]) != name) continue;
    return std::to_string(timeline.start[i].time_since_epoch().count()) + ".." +
           std::to_string(timeline.end[i].time_since_epoch().count());
  }
  return "no " + name;
}

// Of every transfer: async (nobody is occupied), sender, both ranks.
ExecutorModel blocking(TransferMode transfer) {
  ExecutorModel executor;
  executor.transfer = transfer;
  return executor;
}
ExecutorModel deepspeed() {
  ExecutorModel executor = blocking(TransferMode::kRendezvous);
  executor.name = "deepspeed";
  executor.issue = IssueOrder::kDeepSpeed;
  return executor;
}

// Rank 0 lowers to 0F0 0SEND_F0 4RECV_F0 0F1 0SEND_F1 ..: with one queue per rank 0SEND_F1 stands
// behind 4RECV_F0, a full trip round the ring.
TEST_CASE("one queue per rank holds up interleaved 1F1B, other layouts do not") {
  const Program program = lowered("interleaved", {4, 2, 8, 0});
  const StagePrices prices = equal_prices(8, 2, {20, 20, 20, 1});  // f = 10, b = 20, c = 1
  CHECK(makespan(program, prices, {}) == Duration{584});
  ExecutorModel executor;
  for (const QueueLayout layout : {QueueLayout::kPerDirection, QueueLayout::kPerPeer}) {
    executor.queues = layout;
    CHECK(makespan(program, prices, executor) == Duration{584});
  }
  executor.queues = QueueLayout::kPerRank;
  CHECK(makespan(program, prices, executor) == Duration{710});
}

// Two ranks, two micro-batches, F = 10, B = 20, c = 3.
//
//   ideal  0: F0 F1 .......... B0 .... B1      F0 arrives at 13, B0 runs 23..43 on rank 1 and its
//          1: .. F0 B0 F1 B1                   gradient is there at 46, F1 43..53, B1 53..73, 76
TEST_CASE("ideal transfers occupy no rank") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  const Timeline timeline = simulate(program, equal_prices(2, 1, {10, 12, 8, 3}), {});
  CHECK(times(program, timeline, "0F1") == "10..20");
  CHECK(times(program, timeline, "0SEND_F1") == "20..23");
  CHECK(times(program, timeline, "1RECV_F1") == "23..23");
  CHECK(times(program, timeline, "1F0") == "13..23");
  CHECK(times(program, timeline, "1B0") == "23..43");
  CHECK(times(program, timeline, "1F1") == "43..53");
  CHECK(times(program, timeline, "1B1") == "53..73");
  CHECK(times(program, timeline, "0B0") == "46..66");
  CHECK(times(program, timeline, "0B1") == "76..96");
  CHECK(timeline.step_end == SimTime{Duration{96}});
}

//   sender  0: F0 s F1 s ........... B0 ........ B1     s: 3 ns in which the sender cannot compute;
//   blocks  1: .... F0 B0 s F1 B1 s                     rank 1: F0 13..23, B0 ..43, s ..46, F1 ..56
TEST_CASE("a blocking sender computes later") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  const Timeline timeline =
      simulate(program, equal_prices(2, 1, {10, 12, 8, 3}), blocking(TransferMode::kSenderBlocks));
  CHECK(times(program, timeline, "0SEND_F0") == "10..13");
  CHECK(times(program, timeline, "0F1") == "13..23");
  CHECK(times(program, timeline, "0SEND_F1") == "23..26");
  CHECK(times(program, timeline, "1SEND_B0") == "43..46");
  CHECK(times(program, timeline, "1F1") == "46..56");
  CHECK(times(program, timeline, "1B1") == "56..76");
  CHECK(times(program, timeline, "0B0") == "46..66");
  CHECK(times(program, timeline, "0B1") == "79..99");
}

// In DeepSpeed's order rank 1 reaches RECV_F1 after B0: F1's transfer runs 43..46, not 20..23.
TEST_CASE("a transfer may have to wait until its receive is posted") {
  ExecutorModel executor;
  executor.issue = IssueOrder::kDeepSpeed;
  const Program program = lower_for("1f1b", {2, 1, 2, 0}, executor);
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  CHECK(simulate(program, prices, executor).step_end == SimTime{Duration{96}});
  executor.receive_must_be_posted = true;
  const Timeline timeline = simulate(program, prices, executor);
  CHECK(times(program, timeline, "0SEND_F0") == "10..13");
  CHECK(times(program, timeline, "0SEND_F1") == "43..46");
  CHECK(times(program, timeline, "1F1") == "46..56");
  CHECK(times(program, timeline, "1SEND_B1") == "76..79");
  CHECK(times(program, timeline, "0B1") == "79..99");
}

TEST_CASE("two transfers of one queue run one after the other") {
  // c = 25 > F: both activations are ready before the first has arrived.
  const Program program = lowered("gpipe", {2, 1, 2, 0});
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 25});
  CHECK(times(program, simulate(program, prices, {}), "0SEND_F1") == "20..45");
  ExecutorModel executor;
  executor.queues = QueueLayout::kPerDirection;
  CHECK(times(program, simulate(program, prices, executor), "0SEND_F1") == "35..60");
}

TEST_CASE("rendezvous keeps both ranks busy: (M + P - 1)(F + B) and 2Mc or 4Mc") {
  for (const RankCosts& costs :
       {RankCosts{10, 12, 8, 1}, RankCosts{100, 100, 100, 7}, RankCosts{50, 20, 30, 10}}) {
    const std::int64_t both = costs.forward + costs.input_gradient + costs.weight_gradient;
    for (int m = 4; m <= 16; ++m) {
      for (const int p : {2, 4}) {
        const Program program = lower_for("1f1b", {p, 1, m, 0}, deepspeed());
        CHECK(makespan(program, equal_prices(p, 1, costs), deepspeed()) ==
              Duration{(m + p - 1) * both + (p == 2 ? 2 : 4) * m * costs.transfer});
      }
    }
  }
}

TEST_CASE("fixed costs are added per compute action, per transfer and per step") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  const RankCosts costs{10, 12, 8, 3};
  ExecutorModel executor;
  executor.per_action = Duration{2};
  executor.per_transfer = Duration{4};
  executor.per_step = Duration{1000};
  // F = 12, B = 22, c = 7.
  const RankCosts dearer{12, 14, 8, 7};
  const Timeline timeline = simulate(program, equal_prices(2, 1, costs), executor);
  const Timeline plain = simulate(program, equal_prices(2, 1, dearer), {});
  CHECK(timeline.start == plain.start);
  CHECK(timeline.end == plain.end);
  CHECK(timeline.step_end == plain.step_end + Duration{1000});
  CHECK(simulate_by_worklist(program, equal_prices(2, 1, costs), executor) == timeline);
}

// Rank 1 reduces for 40 ns, rank 0 for 5; the optimizer takes 6 and the norm 2. 1F1B with one
// micro-batch, F = 10, B = 20: rank 1 ends its backward at 40, rank 0 at 60.
TEST_CASE("post-validation lets a rank update while others still reduce") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 0});
  prices.step[0].reduce_gradient.duration = Duration{5};
  prices.step[1].reduce_gradient.duration = Duration{40};
  for (StepPrice& step : prices.step) step.optimizer.duration = Duration{6};
  prices.norm.duration = Duration{2};
  const Schedule schedule = make_schedule("1f1b", {2, 1, 1, 0});

  const Program gated = lower({input_of(schedule)}, options);
  const Timeline barrier = simulate(gated, prices, {});
  CHECK(times(gated, barrier, "0REDUCE_GRAD") == "60..65");
  CHECK(times(gated, barrier, "1REDUCE_GRAD") == "40..80");
  CHECK(times(gated, barrier, "0NORM") == "80..82");
  CHECK(times(gated, barrier, "1NORM") == "80..82");
  CHECK(times(gated, barrier, "0OPT") == "82..88");
  CHECK(times(gated, barrier, "1OPT") == "82..88");
  const TimelineSummary summary = summarize(gated, barrier);
  CHECK(summary.makespan == Duration{88});
  CHECK(summary.longest_span == Duration{88});
  CHECK(summary.ideal == Duration{36});

  options.optimizer = OptimizerGate::kPostValidation;
  const Program free = lower({input_of(schedule)}, options);
  const Timeline validated = simulate(free, prices, {});
  CHECK(times(free, validated, "0OPT") == "65..71");
  CHECK(times(free, validated, "1OPT") == "80..86");
  CHECK(summarize(free, validated).makespan == Duration{86});
  CHECK(summarize(free, validated).longest_span == Duration{76});  // rank 1: 10..86
}

// Two replicas with 2 and 1 micro-batches on one rank each, F = 10, B = 20: backwards end at 60 and
// at 30, and the reduction starts when both have.
TEST_CASE("a reduction waits for the replica with more micro-batches") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = options.unshard = true;
  StagePrices prices = equal_prices(1, 1, {10, 12, 8, 0});
  prices.step[0].reduce_gradient.duration = Duration{5};
  prices.step[0].optimizer.duration = Duration{6};
  prices.step[0].unshard.duration = Duration{7};
  prices.norm.duration = Duration{2};
  const Program program = lower({input_of(make_schedule("1f1b", {1, 1, 2, 0})),
                                 input_of(make_schedule("1f1b", {1, 1, 1, 0}))},
                                options);
  for (const auto engine : {simulate, simulate_by_worklist}) {
    const Timeline timeline = engine(program, prices, {});
    CHECK(times(program, timeline, "1B0") == "10..30");
    CHECK(times(program, timeline, "0REDUCE_GRAD") == "60..65");
    CHECK(times(program, timeline, "1REDUCE_GRAD") == "60..65");
    CHECK(times(program, timeline, "1NORM") == "65..67");
    CHECK(times(program, timeline, "1OPT") == "67..73");
    CHECK(times(program, timeline, "1UNSHARD") == "73..80");
    CHECK(timeline.step_end == SimTime{Duration{80}});
  }
}

// Three ranks, one micro-batch; stages 0 and 2 are tied: their reduction (9) waits for rank 0.
TEST_CASE("tied stages reduce when the last of them is done, then over the replicas") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  options.optimizer = OptimizerGate::kPostValidation;
  options.tied = {{"embedding", {0, 2}}};
  StagePrices prices = equal_prices(3, 1, {10, 12, 8, 0});
  for (StepPrice& step : prices.step) step.reduce_gradient.duration = Duration{5};
  prices.tied_reduce = {{"embedding", {Duration{9}, Duration{}}}};
  const Program program = lower({input_of(make_schedule("gpipe", {3, 1, 1, 0}))}, options);
  const Timeline timeline = simulate(program, prices, {});
  CHECK(times(program, timeline, "1REDUCE_GRAD") == "70..75");
  CHECK(times(program, timeline, "0TIED_REDUCE") == "90..99");
  CHECK(times(program, timeline, "2TIED_REDUCE") == "90..99");
  CHECK(times(program, timeline, "0REDUCE_GRAD") == "99..104");
  CHECK(times(program, timeline, "2REDUCE_GRAD") == "99..104");
}

// Two replicas of two ranks, two ties: the prices go by name, not by group. Backwards end at 40 on
// rank 1 and at 60 on rank 0 (F = 10, B = 20); "first" takes 9, then "second" 4.
TEST_CASE("tied groups of one name share a price") {
  LoweringOptions options;
  options.step_actions = true;
  options.optimizer = OptimizerGate::kPostValidation;
  options.tied = {{"first", {0, 1}}, {"second", {0, 1}}};
  const PipelineInput input = input_of(make_schedule("1f1b", {2, 1, 1, 0}));
  const Program program = lower({input, input}, options);
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 0});
  prices.tied_reduce = {{"first", {Duration{9}, Duration{}}},
                        {"second", {Duration{4}, Duration{}}}};
  for (const auto engine : {simulate, simulate_by_worklist}) {
    const Timeline timeline = engine(program, prices, {});
    CHECK(times(program, timeline, "0TIED_REDUCE") == "60..69");
    CHECK(times(program, timeline, "2TIED_REDUCE") == "60..69");
    CHECK(timeline.step_end == SimTime{Duration{73}});
  }
}

TEST_CASE("micro-batches of another shape have their own prices") {
  PipelineInput input = input_of(make_schedule("gpipe", {2, 1, 2, 0}));
  input.micro_batches[1].shape = 1;
  const Program program = lower({input}, {});
  StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  const StagePrices shorter = equal_prices(2, 1, {5, 6, 4, 2});
  prices.shapes = 2;
  prices.compute = {prices.compute[0], shorter.compute[0], prices.compute[1], shorter.compute[1]};
  prices.transfer = {prices.transfer[0], shorter.transfer[0], {}, {}};
  const Timeline timeline = simulate(program, prices, {});
  CHECK(times(program, timeline, "0F1") == "10..15");
  CHECK(times(program, timeline, "0SEND_F1") == "15..17");
  CHECK(times(program, timeline, "1F1") == "23..28");
  CHECK(times(program, timeline, "1B0") == "28..48");
  CHECK(times(program, timeline, "1B1") == "48..58");
  CHECK(times(program, timeline, "1SEND_B1") == "58..60");
  CHECK(times(program, timeline, "0B1") == "71..81");
}

std::string refusal(const Program& program, const StagePrices& prices,
                    const ExecutorModel& executor = {}) {
  return tests::refusal_of([&] { static_cast<void>(simulate(program, prices, executor)); });
}

TEST_CASE("prices that do not cover the Program are refused") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  CHECK(refusal(program, equal_prices(3, 1, {10, 12, 8, 0})) ==
        "prices: 3 stages, but the program has 2");
  Program other_shape = program;
  other_shape.micro_batches[1].shape = 1;
  CHECK(refusal(other_shape, equal_prices(2, 1, {10, 12, 8, 0})) ==
        "prices: no prices for shape 1");
  LoweringOptions options;
  options.step_actions = true;
  options.tied = {{"embedding", {0, 1}}};
  const Program tied = lower({input_of(make_schedule("1f1b", {2, 1, 2, 0}))}, options);
  CHECK(refusal(tied, equal_prices(2, 1, {10, 12, 8, 0})) ==
        "prices: no tied_reduce price for group tied.embedding");
  StagePrices short_tables = equal_prices(2, 1, {10, 12, 8, 0});
  short_tables.step.pop_back();
  CHECK(refusal(program, short_tables) ==
        "prices: tables for 2 stages and 1 shapes need 2 compute, 2 transfer and 2 step entries, "
        "found 2, 2 and 1");
}

TEST_CASE("durations whose sum could leave 64 bits are refused") {
  const Program program = lowered("1f1b", {2, 1, 5000, 0});
  const RankCosts longest{kLongestDuration.count(), 1, 1, 1};
  CHECK(refusal(program, equal_prices(2, 1, longest)) ==
        "prices: 40001 actions of up to 1000000000000000 ns could exceed what 64 bits hold; are "
        "the units right?");
  const Program small = lowered("1f1b", {2, 1, 100, 0});
  CHECK(simulate_summary(small, equal_prices(2, 1, longest), {}).ideal ==
        100 * (kLongestDuration + Duration{2}));
}

// A Program in which rank 0 posts SEND_F1 before RECV_B0 and rank 1 posts SEND_B0 before RECV_F1,
// as PyTorch's deferral of receives can produce (docs/schedules.md).
Program crossed_transfers() {
  Program program;
  program.schedule = "crossed";
  program.stages = {{RankId{0}, kNoStage, StageId{1}}, {RankId{1}, StageId{0}, kNoStage}};
  program.micro_batches.resize(2);
  program.pipelines = {{0, 2, 0, 2, 0, 2, 1}};
  const auto add = [&](ActionKind kind, std::uint16_t stage, std::uint32_t m,
                       std::uint32_t waits_for = kWaitsForNothing) {
    program.actions.push_back({MicroBatchId{m}, waits_for, kNoGroup, StageId{stage}, kind});
    return static_cast<std::uint32_t>(program.actions.size() - 1);
  };
  const auto f0 = add(ActionKind::kForward, 0, 0);
  const auto s0 = add(ActionKind::kSendActivation, 0, 0, f0);
  const auto r0 = add(ActionKind::kReceiveActivation, 1, 0, s0);
  const auto f1 = add(ActionKind::kForward, 0, 1);
  const auto s1 = add(ActionKind::kSendActivation, 0, 1, f1);
  add(ActionKind::kForward, 1, 0, r0);
  const auto b0 = add(ActionKind::kFusedBackward, 1, 0);
  const auto g0 = add(ActionKind::kSendGradient, 1, 0, b0);
  const auto r1 = add(ActionKind::kReceiveActivation, 1, 1, s1);
  const auto h0 = add(ActionKind::kReceiveGradient, 0, 0, g0);
  add(ActionKind::kForward, 1, 1, r1);
  add(ActionKind::kFusedBackward, 0, 0, h0);
  return program;
}

TEST_CASE("transfers that cross in one queue per rank deadlock, and the cycle is named") {
  const Program program = crossed_transfers();
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  CHECK_FALSE(deadlock(program, {}).has_value());
  ExecutorModel executor;
  executor.name = "one-queue";
  executor.queues = QueueLayout::kPerDirection;
  CHECK_FALSE(deadlock(program, executor).has_value());
  CHECK(simulate(program, prices, executor).step_end == simulate(program, prices, {}).step_end);
  for (const QueueLayout layout : {QueueLayout::kPerPeer, QueueLayout::kPerRank}) {
    executor.queues = layout;
    const auto cycle = deadlock(program, executor);
    REQUIRE(cycle.has_value());
    CHECK(*cycle == std::vector<std::string>{"0SEND_F1", "1SEND_B0"});
    CHECK(refusal(program, prices, executor) ==
          "crossed deadlocks under the executor model 'one-queue': 0SEND_F1 -> 1SEND_B0 -> "
          "0SEND_F1");
  }
}

TEST_CASE("a rendezvous with crossed transfers deadlocks") {
  CHECK(deadlock(crossed_transfers(), blocking(TransferMode::kRendezvous)).has_value());
  CHECK_FALSE(deadlock(crossed_transfers(), blocking(TransferMode::kSenderBlocks)).has_value());
}

// Two replicas whose only difference is the order of their reductions.
TEST_CASE("collectives that ranks issue in different orders are refused by both engines") {
  Program program;
  program.schedule = "crossed";
  program.stages.resize(4);
  for (int s = 0; s < 4; ++s) {
    program.stages[static_cast<std::size_t>(s)].rank = RankId{s / 2};
    program.stages[static_cast<std::size_t>(s)].pipeline = s / 2;
  }
  program.micro_batches.resize(2);
  program.pipelines = {{0, 1, 0, 2, 0, 1, 1}, {1, 1, 2, 2, 1, 1, 1}};
  program.groups = {{GroupKind::kDataParallel, "a", 2}, {GroupKind::kDataParallel, "b", 2}};
  const auto reduce = [&](std::uint16_t stage, std::uint32_t group) {
    program.actions.push_back({kNoMicroBatch, kWaitsForNothing, GroupId{group}, StageId{stage},
                               ActionKind::kReduceGradient});
  };
  reduce(0, 0), reduce(1, 1), reduce(3, 1), reduce(2, 0);
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  CHECK(refusal(program, prices) ==
        "crossed deadlocks under the executor model 'ideal': 0REDUCE_GRAD -> 1REDUCE_GRAD -> "
        "0REDUCE_GRAD");
  CHECK(deadlock(program, {}) == std::vector<std::string>{"0REDUCE_GRAD", "1REDUCE_GRAD"});
}

// The optimizer of rank 0 is stored before rank 1 joins the reduction it waits for.
TEST_CASE("a Program whose stored order completes a collective late is replayed all the same") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  options.optimizer = OptimizerGate::kPostValidation;
  const PipelineInput input = input_of(make_schedule("1f1b", {1, 1, 1, 0}));
  Program program = lower({input, input}, options);
  REQUIRE(testing::text_of(program, 0) == "0F0 0B0 0REDUCE_GRAD 0OPT");
  REQUIRE(program.actions.size() == 8);
  // F B REDUCE of rank 0, of rank 1, OPT, OPT: the first OPT moves before rank 1's reduction.
  std::rotate(program.actions.begin() + 5, program.actions.begin() + 6,
              program.actions.begin() + 7);
  program.actions[7].waits_for = 6;
  StagePrices prices = equal_prices(1, 1, {10, 12, 8, 0});
  prices.step[0].reduce_gradient.duration = Duration{5};
  prices.step[0].optimizer.duration = Duration{6};
  const Timeline timeline = simulate(program, prices, {});
  CHECK(times(program, timeline, "0OPT") == "35..41");
  CHECK(times(program, timeline, "1OPT") == "35..41");
  CHECK(simulate_summary(program, prices, {}) == summarize(program, timeline));
}

TEST_CASE("DeepSpeed's order runs 1F1B under rendezvous whatever P and M") {
  for (int p = 1; p <= 6; ++p) {
    for (int m = 1; m <= 13; ++m) {
      const Program program = lower_for("1f1b", {p, 1, m, 0}, deepspeed());
      CHECK_FALSE(deadlock(program, deepspeed()).has_value());
    }
  }
}

}  // namespace
}  // namespace penstock
