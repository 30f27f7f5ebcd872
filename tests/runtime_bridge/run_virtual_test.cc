#include "runtime_bridge/run_virtual.h"

#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "morphing/slow_ranks.h"
#include "runtime_bridge/virtual_prices.h"
#include "search/evaluate.h"
#include "tests/runtime_bridge/plan_per_step.h"
#include "tests/runtime_bridge/ring_plans.h"

namespace penstock {
namespace {

using namespace penstock::testing;
using std::chrono::milliseconds;

// The ends of every rank's actions as the simulator has them.
std::vector<std::vector<Duration>> simulated_ends(const PlanFile& file) {
  const Timeline timeline = replay_plan_file(file).timeline;
  std::vector<std::vector<Duration>> ends(static_cast<std::size_t>(file.program.ranks()));
  for (std::size_t i = 0; i < file.program.actions.size(); ++i) {
    const int rank = file.program.rank_of(file.program.actions[i]).value;
    ends[static_cast<std::size_t>(rank)].push_back(timeline.end[i].time_since_epoch());
  }
  return ends;
}

// A thread may be late, never early: nothing ends before the simulator says.
void check_times(const PlanFile& file, const MeasuredStep& step) {
  const auto simulated = simulated_ends(file);
  CHECK(step.step_time >= file.prediction.step_time);
  for (const MeasuredRank& rank : step.ranks) {
    const Pipeline& pipeline = file.program.pipelines[static_cast<std::size_t>(rank.pipeline)];
    const int listed = pipeline.first_rank + rank.pipeline_rank;
    const auto& ends = simulated[static_cast<std::size_t>(listed)];
    REQUIRE(rank.end.size() == ends.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      CAPTURE(rank.rank);
      CAPTURE(i);
      CHECK(rank.end[i] >= ends[i]);
    }
  }
}

// A rank computes one thing at a time, in the order of its list.
void check_order(const PlanFile& file, const MeasuredStep& step) {
  for (const MeasuredRank& rank : step.ranks) {
    Duration before{0};
    std::size_t position = 0;
    for (const Action& action : file.program.actions) {
      if (file.program.rank_of(action).value != rank.pipeline_rank) continue;
      if (is_compute(action.kind)) {
        CHECK(rank.start[position] >= before);
        before = rank.end[position];
      }
      ++position;
    }
  }
}

TEST_CASE("ranks that sleep keep the order and the times of the plan") {
  // Two ranks, three micro-batches, F 20 ms, B 40 ms, 2 ms per hop: GPipe takes (3 + 1) 60 + 2 * 2
  // = 244 ms and the norm.
  const RingModel model = ring_model(2, false);
  for (const char* schedule : {"gpipe", "1f1b"}) {
    const auto file = std::make_shared<const PlanFile>(
        ring_plan(model, plan_of(schedule, {2, 1, 1, 3}), {20, 40, 2}));
    CHECK(file->prediction.step_time >= milliseconds(244));
    VirtualRunOptions options;
    options.steps = 2;
    const auto steps = run_virtual(file, options, nullptr);
    REQUIRE(steps.size() == 2);
    for (const MeasuredStep& step : steps) {
      check_times(*file, step);
      CHECK(step.phases.compute >= milliseconds(180));
      // Rank 0 waits for its first gradient, 64 ms (gpipe) or 44 ms (1f1b) on paper, less what it
      // was late.
      CHECK(step.phases.waiting >= milliseconds(20));
      CHECK(step.phases.waiting <= step.step_time);
      check_order(*file, step);
    }
  }
}

TEST_CASE("a rank that becomes slow is found, and no other") {
  // Two stages on three replicas, rank = 2 * replica + stage: rank 3 is stage 1 of replica 1. From
  // step 30 on it takes 1.25 times as long: the windows from step 33 and 43 on see it, and that
  // from 23 on does in 3 steps of 10.
  const auto file = std::make_shared<const PlanFile>(
      ring_plan(ring_model(2, false), plan_of("1f1b", {2, 1, 3, 4}), {2, 4, 1}));
  VirtualRunOptions options;
  options.steps = 60;
  options.jumps = true;
  options.timeline = false;
  const auto watched = [&] {
    SlowWatch watch(rank_shares(*file));
    for (const MeasuredStep& step : run_virtual(file, options, nullptr)) {
      watch.observe(step.step, step.rank_compute);
    }
    return watch.slow();
  };
  CHECK(watched().empty());
  options.slow[3] = {30, *parse_factor("1.25")};
  const std::vector<RankSlowness> slow = watched();
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].rank == 3);
  CHECK(slow[0].pipeline_rank == 1);
  CHECK(slow[0].replica == 1);
  CHECK(slow[0].factor == 1.25);
  CHECK(slow[0].replicas == 3);
  CHECK(slow[0].since_step == 33);
  CHECK_FALSE(slow[0].whole_stage);
  options.slow[6] = {0, Factor{}};
  CHECK_THROWS_AS(run_virtual(file, options, nullptr), Error);
}

TEST_CASE("micro-batches of eight shapes sleep their own times") {
  // Two ranks, F 1 ms and B 2 ms per sample, 0.1 ms per hop and sample.
  Batch batch;
  ReplicaBatch& replicas = batch.replicas.emplace_back();
  int samples = 0;
  for (const int size : {3, 1, 8, 2, 5, 7, 4, 6}) {
    replicas.runs.push_back({1, static_cast<int>(batch.shapes.size())});
    batch.shapes.push_back({size, 0, 0});
    samples += size;
  }
  Plan plan = plan_of("1f1b", {2, 1, 1, 8});
  set_batch(plan, batch);
  const auto file =
      std::make_shared<const PlanFile>(ring_plan(ring_model(2, false), plan, {1, 2, 1}));
  const auto steps = run_virtual(file, {}, nullptr);
  REQUIRE(steps.size() == 1);
  check_times(*file, steps[0]);
  check_order(*file, steps[0]);
  CHECK(steps[0].step_time >= milliseconds(3 * samples));
}

TEST_CASE("reductions, ties, gathers and both copies keep their prices") {
  for (const char* schedule : {"zb-h1", "interleaved", "chimera", "zb-v"}) {
    CAPTURE(schedule);
    Plan plan = plan_of(schedule, {2, 2, 2, 4});
    plan.zero1 = true;
    const RingModel model = ring_model(4, true);
    const auto file = std::make_shared<const PlanFile>(ring_plan(model, plan, {2, 4, 2}));
    const auto steps = run_virtual(file, {}, nullptr);
    REQUIRE(steps.size() == 1);
    check_times(*file, steps[0]);
  }
}

TEST_CASE("a rank alone takes its time for the norm, though it has nobody to reduce it with") {
  // Two micro-batches of F 2 and B 4 ms, the norm 30 ms.
  PlanFile plan = ring_plan(ring_model(1, false), plan_of("1f1b", {1, 1, 1, 2}), {2, 4, 1});
  plan.prices.norm.duration = milliseconds(30);
  const auto file = std::make_shared<const PlanFile>(std::move(plan));
  const auto steps = run_virtual(file, {}, nullptr);
  check_times(*file, steps.at(0));
  CHECK(steps[0].step_time >= milliseconds(2 * 6 + 30));
  // Of a step that has nobody to wait for, the norm is what comes between the last B and its end.
  CHECK(steps[0].phases.reducing >= milliseconds(30));
  CHECK(steps[0].phases.waiting == Duration{0});
}

TEST_CASE("the backward of an OVERLAP sleeps for what the pair takes beyond its forward") {
  // F 2 ms and B 4 ms; together they gain 1 ms: 5 ms, of which 3 are left when the forward has
  // slept.
  PlanFile file = ring_plan(ring_model(2, false), plan_of("dualpipe", {2, 2, 1, 8}), {2, 4, 1});
  for (ComputePrice& price : file.prices.compute) price.overlap_gain = milliseconds(1);
  const auto durations = virtual_durations(file, 0, 1);
  const std::vector<Action>& actions = file.program.actions;
  int pairs = 0, alone = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].kind != ActionKind::kFusedBackward) continue;
    std::size_t before = i;  // the action of its rank that comes before it
    while (before > 0 &&
           file.program.rank_of(actions[before - 1]) != file.program.rank_of(actions[i]))
      --before;
    const bool in_pair = before > 0 && actions[before - 1].overlaps_next;
    const auto micro_batch = static_cast<int>(actions[i].micro_batch.value);
    ++(in_pair ? pairs : alone);
    CHECK(durations->of(ActionKind::kFusedBackward, actions[i].stage.value, micro_batch) ==
          milliseconds(in_pair ? 3 : 4));
  }
  CHECK(pairs > 0);
  CHECK(alone > 0);
}

TEST_CASE("a stretched run is told as if it had not been") {
  const RingModel model = ring_model(2, false);
  const auto file =
      std::make_shared<const PlanFile>(ring_plan(model, plan_of("1f1b", {2, 1, 1, 2}), {2, 4, 1}));
  VirtualRunOptions options;
  options.stretch = 5;
  const SteadyTime begin = steady_now();
  const auto steps = run_virtual(file, options, nullptr);
  CHECK(steady_now() - begin >= 5 * file->prediction.step_time);
  check_times(*file, steps.at(0));
  options.stretch = 0;
  CHECK_THROWS_AS((void)run_virtual(file, options, nullptr), Error);
}

TEST_CASE("ranks that sleep run a new plan every step, each with its own prices and groups") {
  const RingModel model = ring_model(4, true);
  Plan sharded = plan_of("gpipe", {1, 1, 4, 1});
  sharded.zero1 = true;
  const std::vector<PlanFile> plans{
      ring_plan(model, plan_of("1f1b", {4, 1, 1, 4}), {2, 4, 1}),
      ring_plan(model, sharded, {8, 16, 1}),
      ring_plan(model, plan_of("interleaved", {2, 2, 2, 2}), {2, 4, 3})};
  PlanPerStep source(plans);
  VirtualRunOptions options;
  options.steps = 7;
  const auto steps = run_virtual(source, options, nullptr);
  REQUIRE(steps.size() == 7);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CAPTURE(i);
    check_times(plans[i % plans.size()], steps[i]);
  }
}

TEST_CASE("Varuna's rule makes a real step shorter than its lists") {
  // Four ranks, F = R = 20 ms, B = 40 ms, no transfers: the rule pays. The step takes at least what
  // the busiest rank computes.
  Plan plan = plan_of("varuna-runtime", {4, 1, 1, 4});
  plan.recompute = "full";
  const RingModel model = ring_model(4, false);
  const auto file = std::make_shared<const PlanFile>(ring_plan(model, plan, {10, 20, 0}));
  const auto steps = run_virtual(file, {}, nullptr);
  CHECK(steps.at(0).step_time >= milliseconds(4 * 40));  // four times F, R and B
}

}  // namespace
}  // namespace penstock
