#include "report/training_cost.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

// 20 samples of 100 tokens a step; 6 GPUs; 36 s a step, 30 to 45. $0.12 a step are $12 an hour.
Plan plan() {
  Plan plan = tests::plan();
  plan.sequence_length = 100;
  return plan;
}
Evaluation evaluation() {
  Evaluation evaluation = tests::evaluation();
  evaluation.step_time = 36s;
  evaluation.step_time_low = 30s;
  evaluation.step_time_high = 45s;
  evaluation.usd_per_step = 0.12;
  return evaluation;
}
TrainingCost cost_of(const TrainingQuestion& question) {
  return *training_cost(question, plan(), evaluation());
}
// Of 6 GPUs with a failure in 6 h each, one fails every hour.
FailureModel failures(double gpu_mtbf_hours, double checkpoint_hours, double restart_hours) {
  return {gpu_mtbf_hours, checkpoint_hours, restart_hours};
}

}  // namespace

// 199,001 tokens are 99.5 steps of 2,000: 100 steps of 0.01 h are 1 h, 6 GPU-hours, $12; at the
// ends of the interval 100 * 30 s = 0.8333 h and 100 * 45 s = 1.25 h.
TEST_CASE("without failures the time is steps times step time, and the interval goes with it") {
  const TrainingCost cost = cost_of({199'001, {}});
  CHECK(cost.tokens_per_step == 2000);
  CHECK(cost.steps == 100);
  CHECK(cost.gpus == 6);
  CHECK(cost.expected.hours == doctest::Approx(1.0));
  CHECK(cost.expected.gpu_hours == doctest::Approx(6.0));
  CHECK(cost.expected.usd == doctest::Approx(12.0));
  CHECK(cost.low.hours == doctest::Approx(5.0 / 6.0));
  CHECK(cost.high.hours == doctest::Approx(1.25));
  CHECK(cost.high.usd == doctest::Approx(15.0));
  CHECK_FALSE(cost.failures);
  CHECK(ends(cost));
  CHECK(cost_of({200'000, {}}).steps == 100);
  CHECK(cost_of({200'001, {}}).steps == 101);
  CHECK(cost_of({1, {}}).steps == 1);
}

// c = 5 min, m = 1 day: Young's interval is sqrt(2 * 5 * 1440) = 120 min, and sqrt(c / 2m) = 1/24,
// so Daly's is 120 (1 + 1/72 + 1/5184) - 5 = 116.6898 min.
TEST_CASE("the best interval is Daly's") {
  CHECK(60.0 * best_checkpoint_interval(5.0 / 60.0, 24.0) ==
        doctest::Approx(115.0 + 120.0 / 72.0 + 120.0 / 5184.0));
  // Free checkpoints are taken all the time; of those that take longer than there is between two
  // failures it is not the number that helps.
  CHECK(best_checkpoint_interval(0.0, 24.0) == 0.0);
  CHECK(best_checkpoint_interval(2.0, 1.0) == 1.0);
  CHECK(best_checkpoint_interval(50.0, 1.0) == 1.0);
}

// The estimate is close to the true minimum: half or twice the interval is worse.
TEST_CASE("no other interval is much better than the best") {
  const auto time = [](double interval) {  // of one hour of work, all told
    return expected_hours(interval + 0.1, 0.5, 20.0) / interval;
  };
  const double best = best_checkpoint_interval(0.1, 20.0);
  for (double factor = 0.25; factor < 4.0; factor *= 1.1) {
    CHECK(time(best) <= time(factor * best) * (1.0 + 1e-6));
  }
}

// m e^(r/m) (e^(t/m) - 1): with t = r = m ln 2 that is m * 2 * 1.
TEST_CASE("the expected time until a stretch has passed without a failure") {
  const double ln2 = std::log(2.0);
  CHECK(expected_hours(3.0 * ln2, 3.0 * ln2, 3.0) == doctest::Approx(6.0));
  CHECK(expected_hours(3.0 * ln2, 0.0, 3.0) == doctest::Approx(3.0));
  CHECK(expected_hours(7.0, 1.0, 1e12) == doctest::Approx(7.0));  // nothing fails
  CHECK(expected_hours(1e6, 1.0, 1.0) == std::numeric_limits<double>::infinity());
}

// One hour between failures, checkpoints of 30 min: Young's interval is 1 h and sqrt(c / 2m) = 1/2,
// so Daly's is 1 + 1/6 + 1/36 - 1/2 = 25/36 h: 69.4 steps of 0.01 h, hence 69. 200 steps are two
// stretches of 69 and one of 62: 2 (e^1.19 - 1) + (e^1.12 - 1) hours, doubled by restarts of ln 2
// h.
TEST_CASE("failures cost checkpoints, work that is done again, and restarts") {
  const TrainingCost cost = cost_of({400'000, failures(6.0, 0.5, std::log(2.0))});
  const double expected = 2.0 * (2.0 * std::expm1(1.19) + std::expm1(1.12));
  REQUIRE(cost.failures);
  CHECK(cost.failures->job_mtbf_hours == doctest::Approx(1.0));
  CHECK(cost.failures->steps_between_checkpoints == 69);
  CHECK(cost.failures->hours_between_checkpoints == doctest::Approx(0.69));
  CHECK(cost.expected.hours == doctest::Approx(expected));
  CHECK(cost.expected.usd == doctest::Approx(12.0 * expected));
  CHECK(cost.without_failures.hours == doctest::Approx(2.0));
  CHECK(cost.failures->failures == doctest::Approx(expected));  // one an hour
  CHECK(cost.failures->checkpoint_share == doctest::Approx(1.5 / expected));
  CHECK(cost.failures->lost_share == doctest::Approx((expected - 3.5) / expected));
  // The same stretches with steps of 30 s.
  const double low = 2.0 * (2.0 * std::expm1(0.5 + 69.0 / 120.0) + std::expm1(0.5 + 62.0 / 120.0));
  CHECK(cost.low.hours == doctest::Approx(low));
  CHECK(cost.high.hours > cost.expected.hours);
}

TEST_CASE("when GPUs hardly ever fail it takes what it takes without failures") {
  const TrainingCost cost = cost_of({400'000, failures(1e12, 1.0 / 60.0, 1.0)});
  CHECK(cost.failures->steps_between_checkpoints == 200);  // only the last one
  CHECK(cost.expected.hours == doctest::Approx(2.0 + 1.0 / 60.0));
  // Free checkpoints, one after every step.
  const TrainingCost free = cost_of({400'000, failures(1e12, 0.0, 1.0)});
  CHECK(free.failures->steps_between_checkpoints == 1);
  CHECK(free.expected.hours == doctest::Approx(2.0));
}

TEST_CASE("a training that failures never let end says so, and has no totals") {
  for (const FailureModel& model :
       {failures(0.06, 0.5, 0.0), failures(0.06, 0.0, 0.5), failures(0.001, 1e4, 1e4)}) {
    const TrainingCost cost = cost_of({400'000, model});
    CHECK_FALSE(ends(cost));
    CHECK(cost.expected.hours == 0.0);
    const std::string text = training_text(cost, Screen{});
    CHECK(text.find("  time                  never: failures would make it take more than 1,000 "
                    "times as long\n") != std::string::npos);
    CHECK(text.find("GPU-hours") == std::string::npos);
    CHECK(to_json(cost).find("time_hours") == nullptr);
    CHECK(to_json(cost).find("why_never") != nullptr);
  }
  // A checkpoint that takes longer than the steps is no failure.
  CHECK(ends(cost_of({2'000, failures(1e12, 1000.0, 0.0)})));
}

TEST_CASE("the report says what was assumed") {
  CHECK(training_text(cost_of({200'000, {}}), Screen{}) ==
        "\nTraining on 200,000 tokens\n"
        "  steps                 100, each of 2,000 tokens, on 6 GPUs\n"
        "  time                  1.000 h, between 50.0 min and 1.250 h\n"
        "  GPU-hours             6.000, between 5.000 and 7.500\n"
        "  price                 $12.00, between $10.00 and $15.00\n"
        "  failures              none assumed; --mtbf-hours H counts them\n");
  Evaluation unpriced = evaluation();
  unpriced.usd_per_step = 0.0;
  CHECK(
      training_text(training_cost(TrainingQuestion{200'000, {}}, plan(), unpriced), Screen{})
          .find("  price                 unknown; --usd-per-gpu-hour X says what a GPU costs\n") !=
      std::string::npos);
  FailureModel model = failures(6.0, 0.5, 0.25);
  model.restart_is_assumed = true;
  const std::string text = training_text(cost_of({400'000, model}), Screen{});
  CHECK(text.find("  failures              a GPU fails after 6.000 h on average, so one of 6 after "
                  "1.000 h\n") != std::string::npos);
  CHECK(text.find("  checkpoints           every 69 steps (41.4 min), the best interval by Daly; a "
                  "checkpoint takes\n                        30.0 min, a restart 15.0 min "
                  "(assumed)\n") != std::string::npos);
  CHECK(training_text({}, Screen{}).empty());
}

// 0.6 h of one GPU are 6 min of six, less than a checkpoint and a restart of 5 min each.
TEST_CASE("failures faster than a checkpoint are told as those of one GPU, in both answers") {
  const TrainingCost often = cost_of({400'000, failures(0.6, 1.0 / 12.0, 1.0 / 12.0)});
  REQUIRE(ends(often));
  const std::string note =
      "--mtbf-hours counts the hours of one GPU, of 6 one fails every 6.00 min; for 0.6 h of the "
      "whole job write --mtbf-hours 3.6";
  CHECK(training_sentence(often).ends_with(" Note: " + note + "."));
  CHECK(training_text(often, Screen{})
            .find("  of the whole job      --mtbf-hours counts the hours "
                  "of one GPU, of 6 one") != std::string::npos);
  const TrainingCost never = cost_of({400'000, failures(0.06, 0.5, 0.0)});
  CHECK(training_sentence(never).find("one fails every 36 s; for 0.06 h of the whole job write "
                                      "--mtbf-hours 0.36.") != std::string::npos);
  const TrainingCost rarely = cost_of({400'000, failures(20000.0, 0.1, 0.1)});
  CHECK(training_sentence(rarely).find("--mtbf-hours") == std::string::npos);
  CHECK(training_text(rarely, Screen{}).find("whole job") == std::string::npos);
}

TEST_CASE("the same for programs") {
  const Json plain = to_json(cost_of({200'000, {}}));
  CHECK(plain.find("steps")->text() == "100");
  CHECK(plain.find("cost_usd_high")->text() == "15");
  CHECK(plain.find("failures")->kind() == Json::Kind::kNull);
  const Json json = to_json(cost_of({400'000, failures(6.0, 0.5, 0.25)}));
  CHECK(json.find("failures")->find("steps_between_checkpoints")->text() == "69");
  CHECK(json.find("failures")->find("checkpoint_minutes")->text() == "30");
  CHECK(json.find("time_without_failures_hours")->text() == "2");
}

// 10^18 steps of 10^6 s: more hours than 64 bits hold.
TEST_CASE("numbers beyond all reason are told in full") {
  Plan one = plan();
  one.global_batch = one.sequence_length = 1;
  Evaluation slow = evaluation();
  slow.step_time = slow.step_time_low = slow.step_time_high = kLongestDuration;
  const auto cost = training_cost(TrainingQuestion{1'000'000'000'000'000'000, {}}, one, slow);
  CHECK(cost->expected.hours == doctest::Approx(1e24 / 3600.0));
  CHECK(training_text(cost, Screen{}).find("GPU-hours             1,666,666,666,666,66") !=
        std::string::npos);
}
