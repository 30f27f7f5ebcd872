#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::lowered;
using testing::makespan_of;
using testing::RankCosts;
using testing::text_of;

std::string why_not(std::string_view name, const ScheduleShape& shape) {
  return why_no_schedule(*find_schedule(name), shape);
}

TEST_CASE("DualPipeV runs its steady part in overlapping pairs") {
  const Schedule schedule = make_schedule("dualpipe-v", {4, 2, 8, 0});
  CHECK(text_of(schedule, 1) ==
        "1F0 1F1 1F2 1F3 1F4 6F0 1F5 6F1 6I0 6W0 6F2 6I1 6W1 6F3 (1F6;6B2) (6F4;1B0) (1F7;6B3) "
        "(6F5;1B1) 6B4 (6F6;1B2) 6B5 (6F7;1B3) 6B6 1B4 6I7 1I5 6W7 1I6 1W5 1I7 1W6 1W7");
}

// P = 2, M = 4, rank 1 by the eight steps.
TEST_CASE("the first pair of the last rank of DualPipeV runs one after the other") {
  const Schedule schedule = make_schedule("dualpipe-v", {2, 2, 4, 0});
  CHECK(text_of(schedule, 1) ==
        "1F0 2F0 1F1 2F1 1F2 2B0 (2F2;1B0) (1F3;2B1) (2F3;1B1) 2B2 1B2 2I3 1I3 2W3 1W3");
}

// d is near of rank 0, stage 0; u far, stage 3 of the pipeline that runs the other way.
std::string direction_name(const Schedule& schedule, const ComputeAction& action) {
  const bool second = action.stage.value >= schedule.stages_per_copy();
  const int micro_batch =
      static_cast<int>(action.micro_batch.value) - (second ? schedule.micro_batches_per_copy() : 0);
  return (second ? "u" : "d") + std::string(name_of(action.kind)) + std::to_string(micro_batch);
}

TEST_CASE("DualPipe is DualPipeV from both ends") {
  const Schedule schedule = make_schedule("dualpipe", {4, 2, 8, 0});
  const auto name = [&](const ComputeAction& action) { return direction_name(schedule, action); };
  CHECK(text_of(schedule, 0, name) ==
        "dF0 dF1 dF2 uF0 uI0 uW0 uF1 (dF3;uB1) (uF2;dB0) uB2 (uF3;dB1) uB3 dI2 dW2 dI3 dW3");
  // Stage s of the second copy is stage 4 + s and lives on rank 3 - s; it takes micro-batches 4
  // to 7.
  CHECK(text_of(schedule, 0) ==
        "0F0 0F1 0F2 7F4 7I4 7W4 7F5 (0F3;7B5) (7F6;0B0) 7B6 (7F7;0B1) 7B7 0I2 0W2 0I3 0W3");
  CHECK(text_of(schedule, 3) ==
        "4F4 4F5 4F6 3F0 3I0 3W0 3F1 (4F7;3B1) (3F2;4B4) 3B2 (3F3;4B5) 3B3 4I6 4W6 4I7 4W7");
  CHECK(schedule.copies == 2);
}

// W <= F = I.
constexpr std::initializer_list<RankCosts> kCosts = {
    {20, 20, 20, 0}, {120, 120, 96, 0}, {1200, 1200, 240, 0}};

std::int64_t bubble_form(std::int64_t ranks, const RankCosts& costs) {
  const std::int64_t backward = costs.input_gradient + costs.weight_gradient;
  return (ranks - 1) * (costs.forward + 2 * backward - 3 * costs.weight_gradient);
}

TEST_CASE("DualPipeV has the bubble (P - 1)(f + 2b - 3w) and holds 2P + 1 chunks") {
  for (const int p : {2, 3, 4, 8}) {
    for (int m = 2 * p; m <= 4 * p + 1; ++m) {
      for (const RankCosts& costs : kCosts) {
        const std::int64_t work = costs.forward + costs.input_gradient + costs.weight_gradient;
        CHECK(makespan_of("dualpipe-v", {p, 2, m, 0}, costs) ==
              Duration{m * work + bubble_form(p, costs) / 2});
      }
      for (const RankLiveness& rank : liveness(lowered("dualpipe-v", {p, 2, m, 0}))) {
        CHECK(rank.peak_chunks == 2 * p + 1);
      }
    }
  }
}

TEST_CASE("DualPipe has the bubble (P / 2 - 1)(F + 2B - 3W) and holds P + 1 micro-batches") {
  for (const int p : {2, 4, 6, 8}) {
    for (int m = 2 * p; m <= 4 * p; m += 2) {
      for (const RankCosts& costs : kCosts) {
        const std::int64_t work = costs.forward + costs.input_gradient + costs.weight_gradient;
        const Schedule schedule = make_schedule("dualpipe", {p, 2, m, 0});
        const Program program = lower({testing::input_of(schedule)}, {});
        // A stage of either copy is a whole P-th of the model.
        CHECK(simulate_summary(program, equal_prices(2 * p, 1, costs), {}).makespan ==
              Duration{m * work + bubble_form(p / 2, costs)});
      }
      for (const RankLiveness& rank : liveness(lowered("dualpipe", {p, 2, m, 0}))) {
        CHECK(rank.peak_chunks == p + 1);
      }
    }
  }
}

TEST_CASE("DualPipe leaves its form when F and I differ or transfers take time") {
  const RankCosts uneven{120, 144, 96, 0};
  CHECK(makespan_of("dualpipe-v", {4, 2, 8, 0}, uneven) !=
        Duration{8 * 360 + bubble_form(4, uneven) / 2});
  const RankCosts linked{120, 120, 96, 5};
  CHECK(makespan_of("dualpipe-v", {4, 2, 8, 0}, linked) >
        Duration{8 * 336 + bubble_form(4, linked) / 2});
}

// P = 1, M = 2, the eight steps on one rank. F = 3, I = 2, W = 2 per stage, so B = 4. One pair: 7
// less the gain, and never less than B.
TEST_CASE("an overlap saves its gain, but is never shorter than its longer member") {
  const Schedule schedule = make_schedule("dualpipe-v", {1, 2, 2, 0});
  CHECK(text_of(schedule, 0) == "0F0 1F0 0F1 1B0 (1F1;0B0) 1B1 0I1 0W1");
  const Program program = lower({testing::input_of(schedule)}, {});
  StagePrices prices = equal_prices(2, 1, {3, 2, 2, 0});
  const auto makespan = [&](std::int64_t gain) {
    for (ComputePrice& price : prices.compute) price.overlap_gain = Duration{gain};
    const Duration time = simulate_summary(program, prices, {}).makespan;
    CHECK(simulate(program, prices, {}).step_end == SimTime{time});
    CHECK(simulate_by_worklist(program, prices, {}).step_end == SimTime{time});
    return time;
  };
  // 3 + 3 + 3 + 4 + pair + 4 + 2 + 2
  CHECK(makespan(0) == Duration{21 + 7});
  CHECK(makespan(2) == Duration{21 + 5});
  CHECK(makespan(3) == Duration{21 + 4});
  CHECK(makespan(100) == Duration{21 + 4});
}

TEST_CASE("the gain is that of the forward's stage") {
  const Program program = lowered("dualpipe-v", {1, 2, 2, 0});
  StagePrices prices = equal_prices(2, 1, {3, 2, 2, 0});
  prices.compute[0].overlap_gain = Duration{2};  // the pair's forward is of stage 1
  CHECK(simulate_summary(program, prices, {}).makespan == Duration{28});
}

TEST_CASE("both members of an overlap run from one instant to another") {
  const Program program = lowered("dualpipe-v", {4, 2, 9, 0});
  const StagePrices prices = equal_prices(8, 1, {3, 5, 2, 1});
  const Timeline timeline = simulate(program, prices, {});
  int pairs = 0;
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (!program.actions[i].overlaps_next) continue;
    CHECK(program.actions[i].kind == ActionKind::kForward);
    CHECK(program.actions[i + 1].kind == ActionKind::kFusedBackward);
    CHECK(program.rank_of(program.actions[i]) == program.rank_of(program.actions[i + 1]));
    CHECK(timeline.start[i] == timeline.start[i + 1]);
    CHECK(timeline.end[i] == timeline.end[i + 1]);
    CHECK(timeline.end[i] - timeline.start[i] == Duration{10});
    ++pairs;
  }
  // Rank r: 2 (M - 2P + r + 1) of the steady part, one less on rank 3, and P - r - 1 after it.
  CHECK(pairs == 2 * (2 + 3 + 4 + 5) - 1 + (3 + 2 + 1));
}

TEST_CASE("DualPipe refuses few micro-batches and what it cannot halve") {
  CHECK(why_not("dualpipe-v", {4, 2, 7, 0}) ==
        "dualpipe-v: M = 7 is less than 2P = 8; use -M 8 or more, or fewer ranks");
  CHECK(why_not("dualpipe", {4, 2, 6, 0}) ==
        "dualpipe: M = 6 is less than 2P = 8; use -M 8 or more, or fewer ranks");
  CHECK(why_not("dualpipe", {3, 2, 8, 0}) ==
        "dualpipe: P = 3 is odd, but each direction takes half; use 2 or 4");
  CHECK(why_not("dualpipe", {1, 2, 8, 0}) ==
        "dualpipe: P = 1 has no second direction; use an even P");
  CHECK(why_not("dualpipe", {4, 2, 9, 0}) ==
        "dualpipe: M = 9 is odd, but each direction takes half; use 8 or 10");
  CHECK(why_not("dualpipe", {4, 1, 8, 0}) ==
        "V = 1: this schedule has 2 stages per rank, one of each copy of the weights; use -V 2");
}

}  // namespace
}  // namespace penstock
