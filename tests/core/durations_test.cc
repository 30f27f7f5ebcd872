#include "core/values/durations.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

// Four stages, the last two copies of the first two; two shapes. Every price differs: stage s and
// shape k have F = 1000 s + 100 k + 1, then I 2, W 3, B 4, R 5; boundaries 6 and 7; per step
// reductions 1000 s + 8, OPT 9, UNSHARD 10; stash 11, weight stash 12, boundary 13 bytes.
StagePrices all_different() {
  StagePrices prices;
  prices.stages = 4;
  prices.shapes = 2;
  const auto price = [](int base, int plus) { return Price{Duration{base + plus}, Duration{}}; };
  for (int s = 0; s < prices.stages; ++s) {
    for (int k = 0; k < prices.shapes; ++k) {
      const int base = 1000 * s + 100 * k;
      ComputePrice& compute = prices.compute.emplace_back();
      compute.forward = price(base, 1);
      compute.input_gradient = price(base, 2);
      compute.weight_gradient = price(base, 3);
      compute.fused_backward = price(base, 4);
      compute.recompute = price(base, 5);
      compute.stash = Bytes{base + 11};
      compute.weight_stash = Bytes{base + 12};
      compute.boundary = Bytes{base + 13};
      prices.transfer.push_back({price(base, 6), price(base, 7)});
    }
    StepPrice& step = prices.step.emplace_back();
    step.reduce_gradient = price(1000 * s, 8);
    step.optimizer = price(1000 * s, 9);
    step.unshard = price(1000 * s, 10);
    step.gradients = Bytes{1000 * s + 14};
    step.parameters = Bytes{1000 * s + 15};
  }
  prices.tied_reduce.push_back({"embedding", price(0, 16)});
  prices.norm = price(0, 17);
  return prices;
}

TEST_CASE("every kind takes its price and what the executor adds to it") {
  const StagePrices prices = all_different();
  ExecutorModel executor;
  executor.per_action = Duration{10'000};
  executor.per_transfer = Duration{20'000};
  executor.per_step = Duration{40'000};  // no action takes that
  struct Expected {
    ActionKind kind;
    int alone, added;
  };
  using enum ActionKind;
  // Of stage 1 and shape 1; the gradient goes to stage 0. Stages 1 and 3 hold the same weights:
  // they reduce and gather until the slower of them, stage 3, is done.
  const std::vector<Expected> all = {{kForward, 1'101, 10'000},
                                     {kInputGradient, 1'102, 10'000},
                                     {kWeightGradient, 1'103, 10'000},
                                     {kFusedBackward, 1'104, 10'000},
                                     {kRecompute, 1'105, 10'000},
                                     {kSendActivation, 1'106, 20'000},
                                     {kReceiveActivation, 0, 0},
                                     {kSendGradient, 107, 20'000},
                                     {kReceiveGradient, 0, 0},
                                     {kUnshard, 3'010, 0},
                                     {kReshard, 0, 0},
                                     {kTiedReduce, 0, 0},
                                     {kReduceGradient, 3'008, 0},
                                     {kNorm, 17, 0},
                                     {kOptimizer, 1'009, 10'000},
                                     {kLoad, 0, 0},
                                     {kStore, 0, 0}};
  CHECK(all.size() == kActionKinds);
  const PricedPlace place{.stage = 1, .shape = 1, .copies = 2};
  for (const Expected& expected : all) {
    CAPTURE(std::string(name_of(expected.kind)));
    CHECK(price_alone(prices, expected.kind, place) == Duration{expected.alone});
    CHECK(fixed_cost(executor, expected.kind) == Duration{expected.added});
    CHECK(duration_of(prices, executor, expected.kind, place) ==
          Duration{expected.alone + expected.added});
  }
}

// The second of two pipelines, whose stages begin at 2.
TEST_CASE("an action is priced at its stage, its shape and its pipeline's copies") {
  Program program;
  Pipeline first, second;
  first.stages = 2;
  second.first_stage = 2;
  second.stages = 4;
  second.copies = 2;
  program.pipelines = {first, second};
  program.stages.resize(6);
  for (std::size_t s = 2; s < program.stages.size(); ++s) program.stages[s].pipeline = 1;
  program.micro_batches.resize(2);
  program.micro_batches[1].shape = 3;
  Action action;
  action.kind = ActionKind::kForward;
  action.stage = StageId{5};
  action.micro_batch = MicroBatchId{1};
  const PricedPlace place = priced_place(program, action);
  CHECK(place.stage == 3);
  CHECK(place.shape == 3);
  CHECK(place.copies == 2);
}

// At 0 gain they run one after the other; no gain makes a pair shorter than one of the two.
TEST_CASE("an overlapped pair takes its sum less the gain, and as long as its longer member") {
  CHECK(overlapped(Duration{10}, Duration{20}, Duration{0}) == Duration{30});
  CHECK(overlapped(Duration{10}, Duration{20}, Duration{7}) == Duration{23});
  CHECK(overlapped(Duration{10}, Duration{20}, Duration{25}) == Duration{20});
  CHECK(overlapped(Duration{20}, Duration{10}, Duration{25}) == Duration{20});
}

TEST_CASE("without copies every stage reduces in its own time") {
  const StagePrices prices = all_different();
  CHECK(duration_of(prices, {}, ActionKind::kReduceGradient, {.stage = 1}) == Duration{1'008});
  CHECK(duration_of(prices, {}, ActionKind::kUnshard, {.stage = 3}) == Duration{3'010});
}

TEST_CASE("no gradient leaves the first stage") {
  CHECK(price_alone(all_different(), ActionKind::kSendGradient, {.stage = 0}) == Duration{});
}

TEST_CASE("tied weights are priced by the name of their group") {
  CHECK(duration_of_tie(all_different(), {}, "tied.embedding") == Duration{16});
  CHECK_THROWS_WITH_AS((void)duration_of_tie(all_different(), {}, "tied.head"),
                       "prices: no tied_reduce price for group tied.head", Error);
}

TEST_CASE("transfers move their boundary, collectives what they reduce or gather") {
  const StagePrices prices = all_different();
  const PricedPlace place{.stage = 1, .shape = 1};
  CHECK(payload_of(prices, ActionKind::kSendActivation, place) == Bytes{1'113});
  CHECK(payload_of(prices, ActionKind::kSendGradient, place) == Bytes{113});  // of stage 0
  CHECK(payload_of(prices, ActionKind::kReduceGradient, place) == Bytes{1'014});
  CHECK(payload_of(prices, ActionKind::kUnshard, place) == Bytes{1'015});
  CHECK(payload_of(prices, ActionKind::kForward, place) == Bytes{});
}

// F takes 1,111; I hands 1,112 on to W; B frees all that F took.
TEST_CASE("what a micro-batch holds is taken by F and gone after W or B") {
  const StagePrices prices = all_different();
  const PricedPlace place{.stage = 1, .shape = 1};
  const auto change = [&](ActionKind kind) { return stash_change(prices, kind, place).count; };
  CHECK(change(ActionKind::kForward) == 1'111);
  CHECK(change(ActionKind::kInputGradient) == 1'112 - 1'111);
  CHECK(change(ActionKind::kWeightGradient) == -1'112);
  CHECK(change(ActionKind::kFusedBackward) == -1'111);
  CHECK(change(ActionKind::kRecompute) == 0);
  CHECK(change(ActionKind::kOptimizer) == 0);
}

// Whatever a program does, it ends as it began: F and the receives of a micro-batch against its
// backward, fused or split.
TEST_CASE("the rows of a micro-batch hold nothing in the end") {
  using enum ActionKind;
  const std::vector<std::vector<ActionKind>> lives = {
      {kReceiveActivation, kForward, kReceiveGradient, kFusedBackward},
      {kReceiveActivation, kForward, kReceiveGradient, kRecompute, kInputGradient,
       kWeightGradient}};
  for (const std::vector<ActionKind>& life : lives) {
    int stash = 0, weight_stash = 0, activations = 0, gradients = 0;
    for (const ActionKind kind : life) {
      const Holds& holds = rule_of(kind).holds;
      stash += holds.stash;
      weight_stash += holds.weight_stash;
      activations += holds.activation_buffer;
      gradients += holds.gradient_buffer;
      CHECK(std::min({stash, weight_stash, activations, gradients}) >= 0);
    }
    CHECK(std::max({stash, weight_stash, activations, gradients}) == 0);
  }
}

}  // namespace
}  // namespace penstock
