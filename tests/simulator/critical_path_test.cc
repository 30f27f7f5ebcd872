#include "simulator/critical_path.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/simulator/varuna.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::lowered;
using testing::Random;
using testing::random_program;

// From the action that ends last (of several the first one stored) back along what bound_by()
// returned, turned round: ascending times. Each begins when the one before it ends, from the start
// of the step on, so that together they take as long as the step.
std::vector<std::uint32_t> critical_path(const Timeline& timeline,
                                         const std::vector<std::uint32_t>& bounds) {
  std::vector<std::uint32_t> path;
  if (timeline.end.empty()) return path;
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  for (auto i = static_cast<std::uint32_t>(last - timeline.end.begin()); i != kWaitsForNothing;
       i = bounds[i]) {
    path.push_back(i);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

// "0F0 0SEND_F0 1F0": what takes no time is left out.
std::string path_of(const Program& program, const StagePrices& prices,
                    const ExecutorModel& executor = {}) {
  const Timeline timeline = simulate(program, prices, executor);
  std::string text;
  for (const std::uint32_t i : critical_path(timeline, bound_by(program, timeline, executor))) {
    if (timeline.end[i] == timeline.start[i]) continue;
    text += (text.empty() ? "" : " ") + name_of(program, program.actions[i]);
  }
  return text;
}

//     0    10   20   30        50        70        90
//   0: F0   F1   .    .    .    B0        B1
//   1: .    F0   F1   B0        B1        .    .
// F1 of rank 1 starts at 20, when both F1 of rank 0 and F0 of rank 1 end: it needs the former.
TEST_CASE("the path of GPipe goes through the last micro-batch and prefers what is needed") {
  CHECK(path_of(lowered("gpipe", {2, 1, 2, 0}), equal_prices(2, 1, {10, 12, 8, 0})) ==
        "0F0 0F1 1F1 1B0 1B1 0B1");
}

//   0: F0 0..10, F1 ..20, B0 46..66, B1 76..96    transfers of 3 end at 13 and 23, 46 and 76
//   1: F0 13..23, B0 ..43, F1 ..53, B1 ..73
TEST_CASE("the path of 1F1B crosses links with its transfers") {
  CHECK(path_of(lowered("1f1b", {2, 1, 2, 0}), equal_prices(2, 1, {10, 12, 8, 3})) ==
        "0F0 0SEND_F0 1F0 1B0 1F1 1B1 1SEND_B1 0B1");
}

// A sender that blocks computes nothing for 3: F1 of rank 0 waits for SEND_F0.
//   0: F0 0..10, SEND_F0 ..13, F1 ..23, SEND_F1 ..26, B0 46..66, B1 76..96
TEST_CASE("what follows a transfer that blocks its sender waited for it") {
  ExecutorModel executor;
  executor.transfer = TransferMode::kSenderBlocks;
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  const StagePrices prices = equal_prices(2, 1, {10, 12, 8, 3});
  const Timeline timeline = simulate(program, prices, executor);
  const auto bounds = bound_by(program, timeline, executor);
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    if (name_of(program, program.actions[i]) != "0F1") continue;
    CHECK(name_of(program, program.actions[bounds[i]]) == "0SEND_F0");
  }
}

// Whatever the Program and the executor: from the start to the last end, without a gap.
void check_contiguous(const Program& program, const StagePrices& prices,
                      const ExecutorModel& executor) {
  if (deadlock(program, executor)) return;
  const Timeline timeline = simulate(program, prices, executor);
  const auto path = critical_path(timeline, bound_by(program, timeline, executor));
  REQUIRE(!path.empty());
  CHECK(timeline.start[path.front()] == SimTime{});
  for (std::size_t k = 1; k < path.size(); ++k) {
    REQUIRE(timeline.start[path[k]] == timeline.end[path[k - 1]]);
  }
  CHECK(timeline.end[path.back()] + executor.per_step == timeline.step_end);
}

TEST_CASE("the path takes as long as the step under any executor") {
  Random random(20260801);
  for (int i = 0; i < testing::draws(60); ++i) {
    ExecutorModel executor;
    executor.transfer = static_cast<TransferMode>(random.between(0, 2));
    executor.queues = static_cast<QueueLayout>(random.between(0, 3));
    executor.receive_must_be_posted = random.coin();
    executor.per_transfer = Duration{random.between(0, 3)};
    executor.per_step = Duration{random.between(0, 9)};
    const auto [program, prices] = random_program(random);
    check_contiguous(program, prices, executor);
  }
}

TEST_CASE("where a rule orders the step as it runs, the path follows the order that came about") {
  for (const RunTimeRule rule : {RunTimeRule::kVaruna, RunTimeRule::kVarunaStrict}) {
    const Program program = testing::varuna_program(4, 6, rule);
    check_contiguous(program, testing::varuna_prices(4, {20, 40, 3, 5, 2}), {});
  }
}

TEST_CASE("an empty step has an empty path") { CHECK(critical_path({}, {}).empty()); }

}  // namespace
}  // namespace penstock
