#include "cli/options/slow_options.h"

#include <doctest/doctest.h>

#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "tests/core/messages.h"

using namespace penstock;
using namespace std::chrono_literals;
using penstock::tests::message_of;

namespace {

Scenario scenario(std::vector<std::string> texts) {
  SlowOptions options;
  options.texts = std::move(texts);
  return options.scenario();
}

}  // namespace

TEST_CASE("a scenario is read exactly as it is typed") {
  const Scenario read = scenario({"rank=3:1.3", "link=2-1:2", "rank=0:1"});
  CHECK(read == Scenario{{{3, Factor{1'300'000}}, {0, Factor{}}}, {{1, 2, Factor{2'000'000}}}});
  CHECK(words_of(read) ==
        "rank 3 computes 1.3 times as long; rank 0 computes 1 times as long; transfers between "
        "ranks 1 and 2 take 2 times as long");
}

TEST_CASE("anything else is refused with an example") {
  const auto message = [](std::vector<std::string> texts) {
    return message_of([&] { (void)scenario(texts); });
  };
  for (const char* text : {"", "rank", "rank=:2", "stage=1:2", "link=1:2", "rank=1-2:3", "fast"}) {
    CHECK(message({text}) == "--slow: '" + std::string(text) +
                                 "' is neither rank=R:FACTOR nor link=R-R:FACTOR\n"
                                 "help: write for example --slow rank=3:1.3 or --slow link=2-3:2");
  }
  for (const char* factor : {"fast", "1001", ""}) {
    CHECK(message({"rank=3:" + std::string(factor)}) ==
          "--slow: '" + std::string(factor) +
              "' is not a factor\n"
              "help: give a number from 1 to 1000: how many times as long it takes");
  }
  CHECK(message({"rank=1:0.8"}) ==
        "--slow: '0.8' is not a factor\n"
        "help: give a number from 1 to 1000: how many times as long it takes; at 0.8 of its speed "
        "it takes 1.25 times as long: write --slow rank=1:1.25");
  CHECK(message({"1"}) ==
        "--slow: '1' does not say how slow\nhelp: write --slow rank=1:1.3 for 1.3 times as long");
  CHECK(message({"link=1-2"}).ends_with("write --slow link=1-2:1.3 for 1.3 times as long"));
  CHECK(message({"by=30%"}) ==
        "--slow: '30%' says how slow, and not what\n"
        "help: write the rank of a pipeline as well: --slow rank=0:1.3");
  CHECK(message({"rank=1", "by=30%", "by=2"}).starts_with("--slow: '2' is a second factor"));
  CHECK(message({"rank=x:2"}).starts_with("--slow: 'x' is not a whole number"));
  CHECK(message({"link=1--2:2"}).starts_with("--slow: '-2' is too small"));
  CHECK(message({"link=1-2:2", "rank=1:2", "link=2-1:3"}) ==
        "--slow: 'link=2-1:3' names what is slow already\nhelp: leave one of them out");
}

TEST_CASE("what is unmistakable is taken: no key, percent, a part and its factor by themselves") {
  const Scenario one = scenario({"rank=1:1.3"});
  for (const char* text : {"1:1.3", "1=1.3", "rank1:1.3", "rank:1:1.3", "1:30%", "rank=1:+30%",
                           "rank=1:130%", "1:1.3x"}) {
    CAPTURE(text);
    CHECK(scenario({text}) == one);
  }
  CHECK(scenario({"rank=1", "by=30%"}) == one);
  CHECK(scenario({"1", "30%"}) == one);
  CHECK(scenario({"1.3", "rank=1"}) == one);
  CHECK(scenario({"2-3:2"}) == scenario({"link=2-3:2"}));
  CHECK(scenario({"link=2-3:2x"}) == scenario({"link=2-3:2"}));
}

// Two replicas of four ranks on two GPUs each: GPU 13 is of the second replica's rank 2, and with
// the replicas inside of the fourth rank's, 3.
TEST_CASE("a GPU of a plan is a rank of its pipeline") {
  Plan plan;
  plan.pipeline = 4;
  plan.data = plan.tensor = 2;
  SlowOptions options;
  options.texts = {"gpu=13:1.3"};
  CHECK(options.scenario(plan) == scenario({"rank=2:1.3"}));
  CHECK(options.gpus_in_words(plan) == "; GPU 13 of the job is of rank 2");
  plan.placement = Placement::kDataInner;
  CHECK(options.scenario(plan) == scenario({"rank=3:1.3"}));
  const auto message = [&](const char* text) {
    options.texts = {text};
    return message_of([&] { (void)options.scenario(plan); });
  };
  CHECK(message("gpu=16:1.3").starts_with("--slow: the plan has GPUs 0 to 15, and 16 is none"));
  CHECK(message("rank=13:30%") ==
        "--slow: 'rank=13:30%': the pipeline has ranks 0 to 3\n"
        "help: GPU 13 of the job is of rank 3: write --slow rank=3:1.3");
  CHECK(message_of([] { (void)scenario({"gpu=1:2"}); }).find("write --slow rank=R:2") !=
        std::string::npos);
}

// 1F1B with two ranks and two micro-batches, F = 1 ms and B = 2 ms: (M + P - 1)(F + B) = 9 ms, of
// which each rank works 6. With the last rank at 1.5 times: (P - 1)(F + B) + 1.5 M (F + B) = 12 ms.
TEST_CASE("a scenario changes the prices, and says what the step was without it") {
  PipelineInput input;
  input.schedule = make_schedule("1f1b", {2, 1, 2, 0});
  input.micro_batches.resize(2);
  const Program program = lower({input}, {});
  StagePrices prices;
  prices.stages = 2;
  prices.compute.resize(2);
  prices.transfer.resize(2);
  prices.step.resize(2);
  for (ComputePrice& compute : prices.compute) {
    compute.forward.duration = 1ms;
    compute.fused_backward.duration = 2ms;
  }
  const ScenarioResult result = slow_down(scenario({"rank=1:1.5"}), program, {}, prices);
  CHECK(prices.compute[1].forward.duration == 1500us);
  CHECK(result.scenario == "rank 1 computes 1.5 times as long");
  CHECK(result.step_time == 12ms);
  CHECK(result.step_time_without == 9ms);
  CHECK(result.busiest_rank == 1);
  CHECK(result.work == 9ms);
  CHECK(result.busiest_rank_without == 0);  // the first of equals
  CHECK(result.work_without == 6ms);
}
