#include "cli/options/jitter_options.h"

#include <doctest/doctest.h>

#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "tests/core/messages.h"

using namespace penstock;
using namespace std::chrono_literals;
using penstock::tests::message_of;

namespace {

// One rank: the step is the sum of its actions, 16 times F = 1 ms and B = 2 ms.
Program program(int replicas) {
  PipelineInput input;
  input.schedule = make_schedule("1f1b", {1, 1, 16, 0});
  input.micro_batches.resize(16);
  input.replicas = replicas;
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  return lower({input}, options);
}
StagePrices prices(Duration spread_of_forward) {
  StagePrices result;
  result.stages = 1;
  result.compute.resize(1);
  result.compute[0].forward = {1ms, spread_of_forward};
  result.compute[0].fused_backward = {2ms, Duration{}};
  result.transfer.resize(1);
  result.step.resize(1);
  return result;
}

}  // namespace

TEST_CASE("jitter is sampled only when it is asked for") {
  CHECK_FALSE(JitterOptions().given());
  JitterOptions options;
  options.samples = "10";
  CHECK(message_of([&] { (void)options.given(); }) ==
        "--samples: there is no jitter to sample\nhelp: add --jitter");
  options.percent = "5";
  CHECK(options.given());
  options.percent = "101";
  CHECK(message_of([&] { (void)options.sampled(program(1), prices({}), {}); }) ==
        "--jitter-percent: '101' is not a percentage\nhelp: give a number from 0 to 100");
}

// The sum of 16 independent forwards strays by 4 * 10 us; 5th and 95th percentile of a bell lie
// 1.645 deviations off its middle, 66 us. Of 1,000 samples they are good to some 3 us.
TEST_CASE("the interval of a sum is that of a bell") {
  JitterOptions options;
  options.jitter = true;
  options.samples = "1000";
  const JitterResult result = options.sampled(program(1), prices(10us), {});
  CHECK(result.has_spreads);
  CHECK(result.step_time == 48ms);
  CHECK(std::chrono::abs(result.median - 48ms) < 6us);
  CHECK(std::chrono::abs(result.high - 48ms - 66us) < 9us);
  CHECK(std::chrono::abs(48ms - result.low - 66us) < 9us);
}

TEST_CASE("a measured spread is kept, a missing one assumed") {
  JitterOptions options;
  options.jitter = true;
  options.samples = "20";
  const JitterResult none = options.sampled(program(1), prices({}), {});
  CHECK_FALSE(none.has_spreads);
  CHECK(none.low == 48ms);
  CHECK(none.high == 48ms);
  const JitterResult measured = options.sampled(program(1), prices(10us), {});
  options.percent = "0";
  CHECK(options.sampled(program(1), prices(10us), {}).median == measured.median);
  options.percent = "1";
  const JitterResult assumed = options.sampled(program(1), prices({}), {});
  CHECK(assumed.has_spreads);
  CHECK(assumed.assumed_percent == "1");
  CHECK(assumed.low < 48ms);
  CHECK(assumed.high > 48ms);
}

// The mean of the largest of eight normal deviates is 1.42: the reduction waits for that replica.
TEST_CASE("the slowest of several replicas decides") {
  JitterOptions options;
  options.jitter = true;
  options.samples = "400";
  const JitterResult eight = options.sampled(program(8), prices(10us), {});
  CHECK_FALSE(eight.replicas_share);
  CHECK(eight.step_time == 48ms);
  CHECK(std::chrono::abs(eight.median - 48ms - 1.42 * 40us) < 8us);
}

// 30 replicas of 1,000 forwards and backwards: 60,000 actions in each of 100,000 samples, of which
// a core replays 30 million in a second where transfers occupy something: 200 s.
TEST_CASE("the limit of samples counts the actions of all replicas that are sampled") {
  PipelineInput input;
  input.schedule = make_schedule("1f1b", {1, 1, 1000, 0});
  input.micro_batches.resize(1000);
  input.replicas = 30;
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  JitterOptions options;
  options.jitter = true;
  options.samples = "100000";
  CHECK(message_of([&] { (void)options.sampled(lower({input}, {}), prices({}), executor); }) ==
        "--samples: 100000 of 60000 actions each take some 4 minutes of a core\n"
        "help: at most 60000, or fewer micro-batches");
}
