// Micro-batches of different shapes: the step by the rules taken literally, the bytes by adding up
// what is held after every action anew.
#include "simulator/stash_bytes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulate_schedule.h"
#include "tests/simulator/by_the_rules.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

PipelineInput input_of_shapes(const Schedule& schedule, const std::vector<int>& shapes) {
  PipelineInput input;
  input.schedule = schedule;
  input.micro_batches.resize(shapes.size());
  for (std::size_t m = 0; m < shapes.size(); ++m) input.micro_batches[m].shape = shapes[m];
  return input;
}

// After every action the sum over all that a rank holds.
std::vector<Bytes> added_up(const Schedule& schedule, const StagePrices& prices,
                            const std::vector<int>& shapes) {
  std::vector<Bytes> peaks;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    std::map<std::pair<int, std::uint32_t>, std::int64_t> held;
    std::int64_t peak = 0;
    for (const ComputeAction& action : schedule.list(rank)) {
      const ComputePrice& price =
          prices.compute_of(action.stage.value, shapes[action.micro_batch.value]);
      const std::pair key(int{action.stage.value}, action.micro_batch.value);
      if (action.kind == ActionKind::kForward) held[key] = price.stash.count;
      if (action.kind == ActionKind::kInputGradient) held[key] = price.weight_stash.count;
      if (completes_gradient(action.kind)) held.erase(key);
      std::int64_t sum = 0;
      for (const auto& [stage_and_micro_batch, bytes] : held) sum += bytes;
      peak = std::max(peak, sum);
    }
    peaks.push_back(Bytes{peak});
  }
  return peaks;
}

}  // namespace

// F 1 ms, B 2 ms, 10 bytes; F 3 ms, B 6 ms, 100 bytes. 1F1B of two ranks:
//   rank 0  F0 F1 B0 F2 B1 B2   0-1 1-4 4-6 6-7 13-19 19-21   10 110 100 110 10 0
//   rank 1  F0 B0 F1 B1 F2 B2   1-2 2-4 4-7 7-13 13-14 14-16  10 0 100 0 10 0
TEST_CASE("a long micro-batch between two short ones, worked out by hand") {
  StagePrices prices;
  prices.stages = prices.shapes = 2;
  prices.compute.resize(4);
  prices.transfer.resize(4);
  prices.step.resize(2);
  for (std::size_t i = 0; i < 4; ++i) {
    const int size = i % 2 == 0 ? 1 : 3;
    prices.compute[i].forward.duration = Duration{1'000'000} * size;
    prices.compute[i].fused_backward.duration = Duration{2'000'000} * size;
    prices.compute[i].stash = Bytes{i % 2 == 0 ? 10 : 100};
  }
  const std::vector<int> shapes{0, 1, 0};
  const Schedule schedule = make_schedule("1f1b", {2, 1, 3});
  const Program program = lower({input_of_shapes(schedule, shapes)}, {});
  CHECK(testing::by_the_rules(schedule, prices, shapes) == Duration{21'000'000});
  CHECK(peak_stash_bytes(program, prices) == std::vector{Bytes{110}, Bytes{100}});
}

TEST_CASE("any schedule of any shapes takes the time and the bytes that the rules say") {
  Random random(77);
  int several = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    const Schedule schedule = testing::random_schedule(random, 5, 12);
    if (schedule.rule != RunTimeRule::kNone) continue;
    const int most = random.between(1, 8);
    std::vector<int> shapes(static_cast<std::size_t>(schedule.micro_batches));
    std::vector<MicroBatchRun> runs;
    for (int& shape : shapes) {
      shape = random.between(0, most - 1);
      MicroBatch each;
      each.shape = shape;
      runs.push_back({1, each});
    }
    several += most > 1 ? 1 : 0;
    const StagePrices prices = testing::random_prices(random, schedule.stages(), most);
    CAPTURE(schedule.name);
    const Program program = lower({input_of_shapes(schedule, shapes)}, {});
    const TimelineSummary summary = simulate_schedule({{&schedule, runs}}, {}, prices, {});
    REQUIRE(summary.makespan == testing::by_the_rules(schedule, prices, shapes));
    REQUIRE(peak_stash_bytes(program, prices) == added_up(schedule, prices, shapes));
    REQUIRE(peak_stash_bytes(RolledInput{&schedule, runs}, prices) ==
            added_up(schedule, prices, shapes));
  }
  CHECK(several > testing::least(150));
}

// Blocks repeat over the runs, forwards and, on copies and in drains, with any first micro-batch.
TEST_CASE("rolled-up lists hold the bytes that written-out ones do") {
  Random random(78);
  std::size_t repeated = 0;
  for (int i = 0; i < testing::draws(400); ++i) {
    const Schedule schedule = testing::random_schedule(random, 4, 60);
    if (schedule.rule != RunTimeRule::kNone) continue;
    const StagePrices prices = testing::random_prices(random, schedule.stages(), 3);
    std::vector<MicroBatchRun> runs;
    std::vector<int> shapes;
    for (int left = schedule.micro_batches; left > 0; left -= static_cast<int>(runs.back().count)) {
      MicroBatch each;
      each.shape = random.between(0, 2);
      runs.push_back({random.coin() && left > 1 ? left - 1 : random.between(1, left), each});
      shapes.insert(shapes.end(), static_cast<std::size_t>(runs.back().count), each.shape);
    }
    for (const ScheduleBlock& block : schedule.blocks) repeated += block.repeat > 2 ? 1 : 0;
    CAPTURE(schedule.name);
    REQUIRE(peak_stash_bytes(RolledInput{&schedule, runs}, prices) ==
            added_up(schedule, prices, shapes));
  }
  CHECK(repeated > testing::least(300));
}

}  // namespace penstock
