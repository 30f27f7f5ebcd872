// The plain way is the oracle: lower(), then simulate_summary().
#include "simulator/simulate_schedule.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::add_random_step_actions;
using testing::Random;

std::vector<MicroBatchRun> runs_of(const std::vector<MicroBatch>& micro_batches) {
  std::vector<MicroBatchRun> runs;
  for (const MicroBatch& micro_batch : micro_batches) {
    if (runs.empty() || !(runs.back().each == micro_batch)) runs.push_back({0, micro_batch});
    ++runs.back().count;
  }
  return runs;
}

// What the compute of all stages takes of the chain that the step's length comes from: all of it
// where nothing else takes time. With a stage twice as slow the chain takes its part of it more,
// and the step is no shorter than its longest chain.
void check_chain(const std::vector<RolledInput>& rolled, const LoweringOptions& options,
                 const StagePrices& prices, const ExecutorModel& executor, ReplayBuffers& buffers,
                 bool has_pairs) {
  const auto traced = simulate_schedule_traced(rolled, options, prices, executor, buffers);
  Duration sum{0};
  for (const Duration time : traced.on_chain) sum += time;
  CHECK(sum <= traced.summary.makespan);
  if (!options.transfers && !options.step_actions) CHECK(sum == traced.summary.makespan);
  if (has_pairs || executor.per_action > Duration{}) return;
  const auto longest = std::max_element(traced.on_chain.begin(), traced.on_chain.end());
  StagePrices slower = prices;
  for (int shape = 0; shape < prices.shapes; ++shape) {
    const auto stage = longest - traced.on_chain.begin();
    ComputePrice& price = slower.compute[static_cast<std::size_t>(stage * prices.shapes + shape)];
    for (Price* p : {&price.forward, &price.input_gradient, &price.weight_gradient,
                     &price.fused_backward, &price.recompute}) {
      p->duration *= 2;
    }
  }
  CHECK(simulate_schedule(rolled, options, slower, executor, buffers).makespan >=
        traced.summary.makespan + *longest);
}

// How often the second way jumped.
std::int64_t check_both_ways(const std::vector<PipelineInput>& pipelines,
                             const LoweringOptions& options, const StagePrices& prices,
                             const ExecutorModel& executor, ReplayBuffers& buffers) {
  const Program program = lower(pipelines, options);
  const Timeline timeline = simulate(program, prices, executor);
  const TimelineSummary expected = summarize(program, timeline);
  std::vector<RolledInput> rolled;
  for (const PipelineInput& pipeline : pipelines) {
    rolled.push_back({&pipeline.schedule, runs_of(pipeline.micro_batches), pipeline.replicas});
  }
  const auto plain = simulate_schedule_counted(rolled, options, prices, executor, buffers, false);
  CHECK(plain.summary.makespan == expected.makespan);
  CHECK(plain.summary.longest_span == expected.longest_span);
  CHECK(plain.summary.busy == expected.busy);
  CHECK(plain.work.jumps == 0);
  const auto jumped = simulate_schedule_counted(rolled, options, prices, executor, buffers);
  REQUIRE(jumped.summary == expected);
  CHECK(jumped.work.steps + jumped.work.skipped == plain.work.steps);
  CHECK((jumped.work.skipped > 0) == (jumped.work.jumps > 0));
  // As who replays often asks: with steps that are made once.
  for (RolledInput& pipeline : rolled) pipeline.steps = kept_steps(pipeline);
  REQUIRE(simulate_schedule(rolled, options, prices, executor, buffers) == expected);
  const auto attributed = simulate_schedule_attributed(rolled, options, prices, executor, buffers);
  REQUIRE(attributed.summary == expected);
  REQUIRE(attributed.ranks == attribute_idle(program, timeline, executor));
  const bool has_pairs = std::any_of(program.actions.begin(), program.actions.end(),
                                     [](const Action& action) { return action.overlaps_next; });
  check_chain(rolled, options, prices, executor, buffers, has_pairs);
  return jumped.work.jumps;
}

LoweringOptions random_options(Random& random, int stages) {
  LoweringOptions options;
  options.recompute = random.coin();
  options.transfers = random.between(0, 3) > 0;
  add_random_step_actions(random, stages, options);
  return options;
}

// Small prices: ties and zeros are frequent, and steady states come late and change.
StagePrices prices_up_to(Random& random, int stages, int shapes, int most) {
  StagePrices prices = testing::random_prices(random, stages, shapes, {"embedding"});
  for (ComputePrice& price : prices.compute) {
    for (Price* p : {&price.forward, &price.input_gradient, &price.weight_gradient,
                     &price.fused_backward, &price.recompute}) {
      p->duration = Duration{random.between(0, most)};
    }
    price.overlap_gain = Duration{random.between(0, most)};
  }
  for (StepPrice& step : prices.step) {
    step.store.duration = step.unshard.duration + Duration{1};
    step.load.duration = step.optimizer.duration;
  }
  for (TransferPrice& price : prices.transfer) {
    price.activation.duration = Duration{random.between(0, random.coin() ? 0 : most)};
    price.gradient.duration = Duration{random.between(0, random.coin() ? 0 : most)};
  }
  return prices;
}

bool jumps_and_agrees(std::uint64_t seed, int most_ranks, int most_micro_batches, int most_price,
                      ReplayBuffers& buffers) {
  Random random(seed);
  const Schedule schedule = testing::random_schedule(random, most_ranks, most_micro_batches);
  std::vector<PipelineInput> pipelines{testing::input_of(schedule)};
  if (random.coin()) pipelines[0].micro_batches.back().shape = 1;  // a short last one
  const StagePrices prices = prices_up_to(random, schedule.stages(), 2, most_price);
  ExecutorModel executor;
  if (random.coin()) executor.per_action = Duration{3};
  if (random.coin()) executor.per_transfer = Duration{2};
  if (random.coin()) executor.transfer = TransferMode::kSenderBlocks;
  INFO("seed ", seed, ": ", schedule.name, " P=", schedule.ranks, " V=", schedule.chunks,
       " M=", schedule.micro_batches);
  const LoweringOptions options = random_options(random, schedule.stages());
  return check_both_ways(pipelines, options, prices, executor, buffers) > 0;
}

// How many of the seeds jump. Those that do not are short or settle late, or they are interleaved
// in groups of so many micro-batches that there are only few groups to repeat.
int jumping(std::uint64_t first, std::uint64_t end, int most_ranks, int most_micro_batches,
            int most_price) {
  ReplayBuffers buffers;  // one for all, of different sizes
  int jumping = 0;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    if (jumps_and_agrees(seed, most_ranks, most_micro_batches, most_price, buffers)) ++jumping;
  }
  return jumping;
}

// Two replicas of one schedule, the second with fewer micro-batches: it waits in its drain, and
// what it waits for may lie in the other.
TEST_CASE("and so do replicas with different numbers of micro-batches") {
  ReplayBuffers buffers;
  int checked = 0, jumps = 0;
  for (std::uint64_t seed = 4000; seed < 4600; ++seed) {
    Random random(seed);
    const Schedule longer = testing::random_schedule(random, 5, 120);
    const ScheduleKind& kind = *find_schedule(longer.name);
    ScheduleShape fewer{longer.ranks, longer.chunks, longer.micro_batches};
    fewer.micro_batches -= random.between(1, 2 * longer.ranks);
    if (kind.is_automatic() || fewer.micro_batches < 1 || !why_no_schedule(kind, fewer).empty()) {
      continue;
    }
    std::vector<PipelineInput> pipelines{testing::input_of(longer),
                                         testing::input_of(kind.generate(fewer))};
    if (random.coin()) std::swap(pipelines[0], pipelines[1]);
    if (random.coin()) pipelines[0].micro_batches.back().shape = 1;
    const StagePrices prices = prices_up_to(random, longer.stages(), 2, random.coin() ? 6 : 9999);
    LoweringOptions options = random_options(random, longer.stages());
    options.step_actions = options.reduce_gradients = true;
    INFO("seed ", seed, ": ", longer.name, " P=", longer.ranks, " V=", longer.chunks,
         " M=", longer.micro_batches, " and ", fewer.micro_batches);
    jumps += check_both_ways(pipelines, options, prices, {}, buffers) > 0 ? 1 : 0;
    ++checked;
  }
  CHECK(checked > 200);
  CHECK(jumps > 100);
}

TEST_CASE("a schedule takes as long as its Program: a thousand small ones") {
  CHECK(jumping(0, testing::draws(1000), 6, 40, 7) > testing::least(400));
}

TEST_CASE("and as many with long steady states") {
  CHECK(jumping(1000, 1000 + testing::draws(1000), 5, 300, 9) > testing::least(850));
}

TEST_CASE("and with prices of many digits, so that slopes differ little") {
  CHECK(jumping(2000, 2000 + testing::draws(1000), 5, 400, 1'000'000) > testing::least(850));
}

TEST_CASE("and some with ten thousand micro-batches") {
  CHECK(jumping(3000, 3000 + testing::draws(40), 6, 10'000, 1000) > testing::least(30));
}

ReplayWork work_of(const Schedule& schedule, int chunks, std::int64_t transfer,
                   const ExecutorModel& executor = {}) {
  const StagePrices prices =
      testing::equal_prices(schedule.stages(), chunks, {120, 132, 96, transfer});
  ReplayBuffers buffers;
  const std::vector<RolledInput> pipelines{{&schedule, {{schedule.micro_batches, {}}}}};
  return simulate_schedule_counted(pipelines, {}, prices, executor, buffers).work;
}

// Automatic schedules are written out, and rules may change the order: those are not replayed so.
TEST_CASE("every static schedule jumps, and takes as many steps for any number of micro-batches") {
  int checked = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    bool offered = false;
    for (const int chunks : {1, 2, 3}) {
      ScheduleShape few{4, chunks, 1 << 11}, many{4, chunks, 1 << 17};
      if (!why_no_schedule(kind, few).empty() || !why_no_schedule(kind, many).empty()) continue;
      offered = true;
      ExecutorModel blocking;
      blocking.transfer = TransferMode::kSenderBlocks;
      for (const ExecutorModel& executor : {ExecutorModel{}, blocking}) {
        for (const std::int64_t transfer : {0, 7}) {
          INFO(kind.name, " V=", chunks, " c=", transfer,
               " transfer=", static_cast<int>(executor.transfer));
          const Schedule schedule = kind.generate(many);
          const ReplayWork work = work_of(schedule, chunks, transfer, executor);
          CHECK(work.jumps > 0);
          CHECK(work.steps == work_of(kind.generate(few), chunks, transfer, executor).steps);
          CHECK(work.steps + work.skipped == static_cast<std::int64_t>(schedule.length()));
          ++checked;
        }
      }
    }
    CHECK_MESSAGE(offered, kind.name);
  }
  CHECK(checked >= 60);
}

// Rank r repeats its block M - (P - 1 - r) times, and a jump takes as many repetitions from all, at
// most the M - P + 1 of rank 0: 2P (P - 1) steps are left for fill and drain. One period, P rounds
// of 2P steps, must be seen; a few more rounds go to settle, and to stop short of the last.
TEST_CASE("1F1B with transfers replays little more than fill, one period and drain") {
  for (const std::int64_t p : {4, 8, 64}) {
    const ReplayWork work = work_of(make_schedule("1f1b", {static_cast<int>(p), 1, 4096}), 1, 5);
    const std::int64_t least = 2 * p * (p - 1) + 2 * p * p;
    CHECK(work.jumps == 1);
    CHECK(work.steps >= least);
    CHECK(work.steps <= least + 5 * 2 * p);
  }
}

// Equal stages, c = 3: (M + P - 1)(F + B) + 2c(P + M - 3 - floor((M - 2) / P)), whatever M.
TEST_CASE("ten million micro-batches of 1F1B are the closed form") {
  const ScheduleShape shape{8, 1, 10'000'000};
  const Schedule schedule = make_schedule("1f1b", shape);
  const StagePrices prices = testing::equal_prices(8, 1, {10, 12, 8, 3});
  const auto summary =
      simulate_schedule({{&schedule, {{shape.micro_batches, {}}}}}, {}, prices, {});
  const std::int64_t m = shape.micro_batches;
  CHECK(summary.makespan == Duration{(m + 7) * 30 + 6 * (8 + m - 3 - (m - 2) / 8)});
  CHECK(summary.ideal == Duration{m * 30});
}

}  // namespace
}  // namespace penstock
