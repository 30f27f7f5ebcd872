#include "search/lower_bound.h"

#include <algorithm>
#include <optional>

#include <doctest/doctest.h>

#include "core/values/durations.h"
#include "search/evaluation.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/stash_bound.h"
#include "simulator/schedules/schedules.h"
#include "simulator/schedules/split_lists.h"
#include "simulator/simulate.h"
#include "tests/search/models.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

Plan random_plan(Random& random) {
  while (true) {
    Plan plan;
    testing::set_schedule(plan, testing::random_static_kind(random), random.between(2, 3));
    plan.pipeline = random.between(1, 6);
    plan.data = random.between(1, 4);
    plan.zero1 = plan.data > 1 && random.coin();
    plan.micro_batch_size = random.between(1, 4);
    plan.global_batch = random.between(plan.data, random.coin() ? 12 : 48);
    if (plan.schedule == "interleaved" && random.between(0, 3) == 0) {
      plan.group = random.between(plan.pipeline, 2 * plan.pipeline);
    }
    if (why_no_program(plan).empty()) return plan;
  }
}

ExecutorModel random_executor(Random& random) {
  ExecutorModel executor;
  if (random.between(0, 2) > 0) {
    executor.transfer = static_cast<TransferMode>(random.between(0, 2));
    executor.queues = static_cast<QueueLayout>(random.between(0, 3));
    executor.receive_must_be_posted = random.coin();
    executor.issue = random.between(0, 3) == 0 ? IssueOrder::kDeepSpeed : IssueOrder::kEager;
  }
  if (random.coin()) executor.optimizer = OptimizerGate::kPostValidation;
  if (random.coin()) {
    executor.per_action = Duration{random.between(0, 3)};
    executor.per_transfer = Duration{random.between(0, 3)};
    executor.per_step = Duration{random.between(0, 5)};
  }
  return executor;
}

// Prices that a cost model could give: nothing is reduced without replicas, nothing gathered
// without ZeRO-1, nothing sent inside a rank.
StagePrices prices_of_plan(Random& random, const Plan& plan, bool recomputes,
                           const std::vector<PlanTie>& ties) {
  const int shapes = static_cast<int>(micro_batch_shapes(plan).size());
  StagePrices prices =
      testing::random_prices(random, plan.stages(), shapes, testing::names_of(ties));
  if (random.between(0, 2) == 0) {  // something that stands out
    auto& compute = prices.compute[static_cast<std::size_t>(
        random.between(0, static_cast<int>(prices.compute.size()) - 1))];
    compute.forward.duration *= 10;
    compute.fused_backward.duration *= 10;
    compute.weight_gradient.duration *= 10;
  }
  for (ComputePrice& compute : prices.compute) {
    if (!recomputes) compute.recompute = {};
    compute.overlap_gain = {};  // sums of sections know of none
    compute.stash = Bytes{compute.forward.duration.count() % 7};
  }
  for (StepPrice& step : prices.step) {
    if (plan.weight_copies() == 1) step.reduce_gradient = {};
    if (!plan.zero1) step.unshard = {};
  }
  // Copies of a stage are the same sections.
  const std::size_t copied = prices.compute.size() / static_cast<std::size_t>(plan.copies());
  std::copy_n(prices.compute.begin(), prices.compute.size() - copied,
              prices.compute.end() - static_cast<std::ptrdiff_t>(prices.compute.size() - copied));
  if (plan.pipeline == 1)
    std::fill(prices.transfer.begin(), prices.transfer.end(), TransferPrice{});
  return prices;
}

// One section per stage.
SectionSums sums_of_prices(const StagePrices& prices, int stages) {
  SectionSums sums;
  for (auto* list : {&sums.forward, &sums.input_gradient, &sums.weight_gradient,
                     &sums.fused_backward, &sums.recompute, &sums.work, &sums.split_work,
                     &sums.mixed_work, &sums.gain, &sums.first_gradient, &sums.stash}) {
    list->push_back(0);
  }
  const auto append = [](std::vector<std::int64_t>& list, Duration time) {
    list.push_back(list.back() + time.count());
  };
  for (int s = 0; s < stages; ++s) {
    const ComputePrice& price = prices.compute_of(s, 0);
    const Duration f = price.forward.duration, r = price.recompute.duration;
    const Duration i = price.input_gradient.duration, w = price.weight_gradient.duration;
    const Duration b = price.fused_backward.duration;
    append(sums.forward, f);
    append(sums.input_gradient, i);
    append(sums.weight_gradient, w);
    append(sums.fused_backward, b);
    append(sums.recompute, r);
    append(sums.work, f + r + b);
    append(sums.split_work, f + r + i + w);
    append(sums.mixed_work, f + r + std::min(b, i + w) - price.overlap_gain);
    append(sums.gain, price.overlap_gain);
    append(sums.first_gradient, std::min(b, i));
    sums.stash.push_back(sums.stash.back() + price.stash.count);
    sums.working_peak.push_back(0);
  }
  return sums;
}

std::vector<PlanTie> random_ties(Random& random, int stages) {
  std::vector<PlanTie> ties;
  if (stages > 1 && random.coin()) ties.push_back({"embedding", {0, stages - 1}});
  if (stages > 2 && random.coin()) ties.push_back({"other", {1, stages - 1}});
  return ties;
}

// As automatic schedules measure their lists: compute and transfers of one shape of micro-batch,
// the longest of the pipelines. Nothing for what those lists cannot be.
std::optional<Duration> longest_lists(const Plan& plan, const StagePrices& prices,
                                      const ExecutorModel& executor) {
  const bool is_placed = plan.chunks == 1 || (plan.stage_map == StageMap::kV && plan.chunks == 2);
  if (find_schedule(plan.schedule)->backward != BackwardKind::kSplit || plan.copies() > 1 ||
      prices.shapes > 1 || !is_placed) {
    return std::nullopt;
  }
  std::vector<int> ranks;
  for (int s = 0; s < plan.stages(); ++s) ranks.push_back(plan.rank_of(s));
  StageCosts costs = stage_costs(prices, ranks, executor, takes_recompute_time(prices));
  costs.limit.assign(static_cast<std::size_t>(plan.pipeline), 0);
  Duration longest{};
  const PlanSchedules schedules = schedules_of(plan);
  for (const Schedule& schedule : schedules.schedules) {
    longest = std::max(longest, length_of(split_lists(schedule), costs, costs.shortest));
  }
  return longest;
}

TEST_CASE("no replay beats its bounds, whatever the plan, the prices and the executor") {
  Random random(21);
  int replayed = 0;
  int tight = 0;
  int well_filled = 0;
  int by_lists = 0;
  for (int i = 0; i < testing::draws(6'000); ++i) {
    Plan plan = random_plan(random);
    for (int s = 0; s <= plan.stages_per_copy(); ++s) plan.cuts.push_back(s);
    const ExecutorModel executor = random_executor(random);
    const bool recomputes = random.between(0, 2) == 0;
    const auto ties = random_ties(random, plan.stages());
    const StagePrices prices = prices_of_plan(random, plan, recomputes, ties);
    const Program program =
        program_of(schedules_of(plan), lowering_of(plan, ties, recomputes, executor));
    if (deadlock(program, executor)) continue;
    const Duration step = step_time_of(simulate_summary(program, prices, executor), executor);

    const BackwardKind split = find_schedule(plan.schedule)->backward;
    const auto live = liveness_of(plan);
    const Duration priced = step_bound(prices, plan, split, live, executor);
    const SectionSums sums = sums_of_prices(prices, plan.stages_per_copy());
    const Duration computed = compute_bound(sums, plan, split, live, executor);
    CAPTURE(i);
    CAPTURE(plan.schedule);
    REQUIRE(priced <= step);
    REQUIRE(computed <= step);
    REQUIRE(compute_bound(sums, plan, split, {}, executor) <= computed);
    REQUIRE(step_bound(prices, plan, split, {}, executor) <= priced);
    if (const auto lists = longest_lists(plan, prices, executor)) {
      REQUIRE(*lists + least_behind_compute(prices, plan, executor) <= step);
      ++by_lists;
    }
    // Room for what the ranks hold at most leaves the step no shorter, each by itself or shared
    // evenly.
    Bytes room;
    std::vector<std::int64_t> of_ranks;
    for (const MemoryUse& use : memory_of_ranks(prices, live, Bytes{0})) {
      room += use.stash;
      of_ranks.push_back(use.stash.count);
    }
    const Duration within = step_bound(prices, plan, split, live, executor, false, of_ranks);
    REQUIRE(within <= step);
    REQUIRE(within >= priced);
    const StashRoom mean{first_load(plan).full, plan.pipeline,
                         Bytes{room.count / plan.pipeline + 1}};
    const Duration held = stash_bound(sums, split, mean);
    REQUIRE(held <= step);
    REQUIRE(StashCurve(sums, sums, split).least(mean) <= step);
    if (held * 5 > step) ++well_filled;
    ++replayed;
    if (priced == step) ++tight;
  }
  CHECK(replayed > testing::least(5'000));
  CHECK(tight > replayed / 25);
  CHECK(well_filled > replayed / 25);
  CHECK(by_lists > replayed / 25);
}

// Without recomputation.
StagePrices equal_prices(int stages, std::int64_t transfer) {
  StagePrices prices = testing::equal_prices(stages, 1, {10, 12, 8, transfer});
  for (ComputePrice& compute : prices.compute) compute.recompute = {};
  return prices;
}

Plan equal_plan(const std::string& schedule, int pipeline, int micro_batches) {
  Plan plan;
  plan.schedule = schedule;
  plan.pipeline = pipeline;
  plan.global_batch = micro_batches;
  for (int s = 0; s <= pipeline; ++s) plan.cuts.push_back(s);
  return plan;
}

TEST_CASE("for equal stages and free transfers the bound of 1F1B and GPipe is the step") {
  for (const std::string schedule : {"1f1b", "gpipe"}) {
    for (const int p : {1, 2, 3, 8}) {
      for (const int m : {1, 2, 7, 8, 30}) {
        const Plan plan = equal_plan(schedule, p, m);
        const StagePrices prices = equal_prices(p, 0);
        const Duration bound =
            step_bound(prices, plan, BackwardKind::kFused, liveness_of(plan), {});
        CHECK(bound == Duration{(m + p - 1) * 30});
      }
    }
  }
}

TEST_CASE("a slow link to a stage with few in flight is bound by its round trips") {
  // P = 2, F = 10, B = 20, a transfer 100: rank 0 holds two micro-batches, so that F2 waits for B0.
  // A round trip takes 10 + 100 + 10 + 20 + 100 + 20 = 260; two of them, and one B of 20 between
  // the last two micro-batches.
  const Plan plan = equal_plan("1f1b", 2, 4);
  const StagePrices prices = equal_prices(2, 100);
  CHECK(step_bound(prices, plan, BackwardKind::kFused, liveness_of(plan), {}) >=
        Duration{2 * 260 + 20});
  const Program program = program_of(schedules_of(plan), lowering_of(plan, {}, false, {}));
  CHECK(step_time_of(simulate_summary(program, prices, {}), {}) >= Duration{2 * 260 + 20});
}

TEST_CASE("activations of both stages of a V share the room of their rank") {
  // P = 2, F = 10, I = 12, W = 8, 50 between ranks, each stage holds 1 byte of a micro-batch, and a
  // rank has room for 2. From a stage to the end of the V and back, the turn is free: stage 3 takes
  // 22, 2 takes 22 + 22 + 100 = 144, 1 takes 166. So rank 1 holds 144 + 166 byte ns of each of four
  // micro-batches, which takes 1240 / 2 = 620; 10 + 50 before, 12 + 50 and the W of stage 0 behind.
  Plan plan;
  plan.schedule = "zb-v-auto";
  plan.stage_map = StageMap::kV;
  plan.pipeline = plan.chunks = 2;
  plan.global_batch = 4;
  plan.cuts = {0, 1, 2, 3, 4};
  StagePrices prices = equal_prices(4, 50);
  for (ComputePrice& compute : prices.compute) compute.stash = compute.weight_stash = Bytes{1};
  const std::vector<std::int64_t> room{2, 2};
  const Duration within = step_bound(prices, plan, BackwardKind::kSplit, {}, {}, false, room);
  CHECK(within <= Duration{60 + 620 + 62 + 8});
  CHECK(within >= Duration{60 + 619 + 62 + 8});  // a little less, for what a double rounds
  CHECK(within > step_bound(prices, plan, BackwardKind::kSplit, {}, {}));
  StageCosts costs = stage_costs(prices, {0, 1, 1, 0}, {}, false);
  costs.limit = room;
  ScheduleShape shape;
  shape.ranks = shape.chunks = 2;
  shape.micro_batches = 4;
  const ArrangedSchedule arranged = find_schedule(plan.schedule)->arrange(shape, costs);
  CHECK(length_of(split_lists(arranged.schedule), costs, costs.shortest) >= within);
}

TEST_CASE("what ends a step is in the bound: reduction, norm, optimizer, gather") {
  Plan plan = equal_plan("1f1b", 2, 2);
  plan.data = 2;
  plan.zero1 = true;
  StagePrices prices = equal_prices(2, 0);
  prices.step[0].reduce_gradient.duration = Duration{50};
  prices.step[1].optimizer.duration = Duration{7};
  prices.step[1].unshard.duration = Duration{5};
  prices.norm.duration = Duration{3};
  // One micro-batch per replica: 2 * 30, then 50 + 3 + 7 + 5.
  const Duration bound = step_bound(prices, plan, BackwardKind::kFused, liveness_of(plan), {});
  CHECK(bound == Duration{60 + 50 + 3 + 7 + 5});
  const Program program = program_of(schedules_of(plan), lowering_of(plan, {}, false, {}));
  CHECK(step_time_of(simulate_summary(program, prices, {}), {}) == bound);
  ExecutorModel validated;
  validated.optimizer = OptimizerGate::kPostValidation;
  validated.per_step = Duration{11};
  CHECK(step_bound(prices, plan, BackwardKind::kFused, liveness_of(plan), validated) ==
        Duration{30 + 11});
}

}  // namespace
}  // namespace penstock
