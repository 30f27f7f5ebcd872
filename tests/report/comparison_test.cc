#include "report/comparison.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;

namespace {

Variant variant(const std::string& schedule, std::optional<RankedPlan> best) {
  Variant variant;
  variant.settings = {{"schedule", schedule}, {"gpus", "6"}};
  variant.best = std::move(best);
  return variant;
}

// No plan; 100 ms; 80 ms, which is 1.25 times as fast.
std::vector<Variant> three_variants() {
  RankedPlan faster = tests::ranked();
  faster.evaluation.step_time = Duration(80'000'000);
  faster.evaluation.step_time_high = Duration(84'000'000);
  faster.evaluation.step_time_low = Duration(76'000'000);
  std::vector<Variant> variants{variant("gpipe", {}), variant("1f1b", tests::ranked()),
                                variant("zb-h1", faster)};
  variants[0].why_not = "nothing fits";
  return variants;
}

}  // namespace

TEST_CASE("speeds are relative to the first row that has a plan; what varies has one column") {
  CHECK(comparison_table(three_variants(), Screen{}) ==
        "# schedule= gpus=      step   +- samples/s speed  TP PP DP VP mbs M recompute shards  GiB "
        "bub% idle%\n"
        "1 gpipe     6       no plan    -         -     -   -  -  -  -   - - -         -         - "
        "   "
        "-     -\n"
        "2 1f1b      6      100.0 ms 5.0%     200.0  1.00   1  2  3  1   2 4 none      -      30.0 "
        "10.0  15.0\n"
        "3 zb-h1     6      80.00 ms 5.0%     250.0  1.25   1  2  3  1   2 4 none      -      30.0 "
        "10.0  15.0\n"
        "speed: samples per second relative to the first row with a plan; +-: error of the step "
        "time; M:\n"
        "micro-batches of a step and DP rank; shards: what the replicas divide; GiB: peak of the "
        "fullest\n"
        "rank; bub%: bubble by makespan, beyond the work of the busiest rank; idle%: mean of all "
        "ranks.\n"
        "\n"
        "No plan:\n"
        "  1: nothing fits\n");
}

// Three rows: no plan; 30 ms more than 100 ms; a pipeline of two ranks has no rank 3.
TEST_CASE("a scenario gets two columns, and a row that it does not apply to says why") {
  std::vector<Variant> variants = three_variants();
  ScenarioResult slow;
  slow.scenario = "rank 1 computes 1.5 times as long";
  slow.step_time = Duration(130'000'000);
  slow.step_time_without = Duration(100'000'000);
  variants[1].slow = slow;
  variants[2].why_not_slow = "slow rank 3: the pipeline has ranks 0 to 1";
  const std::string text = comparison_table(variants, Screen{});
  for (const char* part :
       {" idle% slow step longer\n", " 15.0  130.0 ms  30.0%\n", " 15.0         -      -\n",
        "\nslow step: of the same plan when rank 1 computes 1.5 times as long; longer: by ",
        "\nNot in the scenario:\n  3: slow rank 3: the pipeline has ranks 0 to 1\n"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  }
  const Json rows = comparison_json(variants);
  CHECK(rows.elements()[0].find("scenario") == nullptr);
  CHECK(rows.elements()[1].find("scenario")->find("step_time_ns")->text() == "130000000");
  CHECK(rows.elements()[2].find("why_not_slow")->text() == variants[2].why_not_slow);
}

TEST_CASE("the same for programs") {
  const Json rows = comparison_json(three_variants());
  REQUIRE(rows.elements().size() == 3);
  CHECK(rows.elements()[0].find("why_not")->text() == "nothing fits");
  CHECK(rows.elements()[2].find("relative_speed")->text() == "1.25");
  CHECK(rows.elements()[2].find("settings")->find("schedule")->text() == "zb-h1");
}

// Four rows of 100 ms but for the last, 80 ms; the first has no plan.
TEST_CASE(
    "with three things that vary, columns that say the same give way, and values are ranked") {
  std::vector<Variant> variants;
  for (const char* schedule : {"1f1b", "zb-h1"}) {
    for (const char* b : {"1", "2"}) {
      Variant one;
      one.settings = {{"schedule", schedule}, {"b", b}, {"gpus", "6"}};
      one.best = tests::ranked();
      variants.push_back(one);
    }
  }
  variants[0].best.reset();
  variants[0].why_not = "nothing fits";
  variants[3].best->evaluation.step_time = Duration(80'000'000);
  const std::string text = comparison_table(variants, Screen{});
  CHECK_MESSAGE(text.starts_with("# schedule= mbs= gpus=      step"), text);
  CHECK_MESSAGE(text.find("\nBest speed by what varies\n"
                          "  schedule: 1.00 with 1f1b (row 2), 1.25 with zb-h1 (row 4)\n"
                          "  mbs: 1.00 with 1 (row 3), 1.25 with 2 (row 4)\n") != std::string::npos,
                text);
  variants.erase(variants.begin());
  const std::string same = comparison_table(variants, Screen{});
  CHECK_MESSAGE(
      same.find("\nIn all rows: TP 1, PP 2, DP 3, VP 1, M 4, recompute none, shards -, GiB "
                "30.0, bub% 10.0, idle% 15.0;\nspeed: ") != std::string::npos,
      same);
  CHECK(same.find(" recompute shards") == std::string::npos);
}

TEST_CASE("rows of different sequence lengths are compared by tokens, and prices have a column") {
  std::vector<Variant> variants(2);
  variants[0].settings = {{"sequence-length", "1000"}};
  variants[1].settings = {{"sequence-length", "4000"}};
  for (Variant& variant : variants) variant.best = tests::ranked();
  variants[0].best->plan.sequence_length = 1000;  // 20 samples in 100 ms
  variants[1].best->plan.sequence_length = 4000;  // in 200 ms: half the samples, twice the tokens
  variants[1].best->evaluation.step_time = Duration(200'000'000);
  variants[0].best->evaluation.usd_per_step = 0.02;  // of 20,000 tokens: $1 per million
  const std::string text = comparison_table(variants, Screen{});
  CHECK_MESSAGE(text.find("tokens/s speed") != std::string::npos, text);
  CHECK_MESSAGE(text.find("  2.00 ") != std::string::npos, text);
  CHECK_MESSAGE(text.find(" $/Mtok\n") != std::string::npos, text);
  CHECK(comparison_json(variants).elements()[1].find("relative_speed")->text() == "2");
}

TEST_CASE("no variants, no table") { CHECK(comparison_table({}, Screen{}).empty()); }

// 20 samples of 100 tokens a step: 72,000,000 tokens are 36,000 steps, of 100 ms 1 h, of 80 ms 48
// min.
TEST_CASE("a training that was asked for gets two columns") {
  std::vector<Variant> variants = three_variants();
  for (Variant& variant : variants) {
    if (!variant.best) continue;
    variant.best->plan.sequence_length = 100;
    variant.training = training_cost(TrainingQuestion{72'000'000, {}}, variant.best->plan,
                                     variant.best->evaluation);
  }
  const std::string text = comparison_table(variants, Screen{});
  for (const char* part :
       {" idle% training price\n", " 15.0  1.000 h     -\n", " 15.0 48.0 min     -\n",
        "\ntraining: time for 72M tokens, no failures assumed; price: cost of that training.\n"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  }
  const std::vector<Json> rows = exact_rows(variants);
  CHECK(rows[1].find("training_time_hours")->text() == "1");
  CHECK(rows[2].find("training_steps")->text() == "36000");
}

TEST_CASE("exact rows keep what varies apart from what was chosen") {
  const std::vector<Json> rows = exact_rows(three_variants());
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].find("number")->text() == "1");
  CHECK(rows[0].find("vary_schedule")->text() == "gpipe");
  CHECK(rows[0].find("why_not")->text() == "nothing fits");
  CHECK(rows[0].find("step_time_ns") == nullptr);
  CHECK(rows[2].find("vary_schedule")->text() == "zb-h1");
  CHECK(rows[2].find("step_time_ns")->text() == "80000000");
  CHECK(rows[2].find("relative_speed")->text() == "1.25");
  CHECK(
      comparison_rows(three_variants()).markdown().starts_with("| # | schedule= | gpus= | step |"));
}
