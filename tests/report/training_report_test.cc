#include "report/training_report.h"

#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

MeasuredStep step(std::int64_t number, double loss, int milliseconds) {
  MeasuredStep out;
  out.step = number;
  out.loss = loss;
  out.gradient_norm = 0.825;
  out.tokens = 1000;
  out.step_time = std::chrono::milliseconds(milliseconds);
  return out;
}

RunLog five_steps() {
  RunLog run;
  run.header.model = "tiny";
  run.header.ranks = 2;
  run.header.transport = "gloo";
  run.header.device = "cpu";
  run.steps = {step(0, 5.5, 900), step(1, 5.25, 800), step(2, 5, 700), step(3, 4.75, 500),
               step(4, 4.5, 300)};
  return run;
}

TEST_CASE("the first three steps are warm-up where there are more") {
  // 500 and 300 ms count: the lower one is the median of two; 2,000 tokens in 0.8 s.
  const TrainingSummary five = summarize(five_steps());
  CHECK(five.steps == 5);
  CHECK(five.timed_steps == 2);
  CHECK(five.step_time == std::chrono::milliseconds(300));
  CHECK(five.tokens_per_second == doctest::Approx(2500.0));
  CHECK(five.first_loss == 5.5);
  CHECK(five.last_loss == 4.5);

  RunLog two = five_steps();
  two.steps.resize(2);
  CHECK(summarize(two).timed_steps == 2);
  CHECK(summarize(two).step_time == std::chrono::milliseconds(800));
}

std::vector<PredictedPlan> predicted(int milliseconds) {
  return {{"plan.json", "hash", std::chrono::milliseconds(milliseconds)}};
}

TEST_CASE("of a run with several plans each has its steps beside its prediction") {
  RunLog run = five_steps();
  run.header.plan_hash = "one";
  for (const std::size_t i : {2U, 4U}) {
    run.steps[i].plan = "b.json";
    run.steps[i].plan_hash = "two";
  }
  const std::vector<PredictedPlan> plans{{"a.json", "one", std::chrono::milliseconds(960)},
                                         {"b.json", "two", std::chrono::milliseconds(330)},
                                         {"c.json", "three", std::chrono::milliseconds(1)}};
  // a.json: 900, 800 and 500 ms, 3,000 tokens in 2.2 s; b.json: 700 and 300 ms, 2,000 in 1 s.
  CHECK(training_report(run, plans) ==
        "5 steps of tiny on 2 ranks (gloo, cpu): loss 5.5000 to 4.5000\n"
        "a.json: 3 steps, step time 800 ms (median of 3), predicted 960 ms (+20.0 %); 1,364 "
        "tokens/s\n"
        "b.json: 2 steps, step time 300 ms (median of 2), predicted 330 ms (+10.0 %); 2,000 "
        "tokens/s\n"
        "c.json: 0 steps\n");
  Json json = Json::object();
  set_training(json, run, plans);
  CHECK(json.find("predicted_step_time_ns")->kind() == Json::Kind::kNull);
  CHECK(json.find("plans")->elements().size() == 3);
}

TEST_CASE("a run is told in two lines, a step in one") {
  CHECK(training_report(five_steps(), predicted(270)) ==
        "5 steps of tiny on 2 ranks (gloo, cpu): loss 5.5000 to 4.5000\n"
        "step time 300 ms (median of 2), predicted 270 ms (-10.0 %); 2,500 tokens/s\n");
  CHECK(step_line(five_steps().steps[4], 50) ==
        "step 5 of 50: loss 4.5000, gradient norm 0.825, 300 ms, 3,333 tokens/s");
  RunLog sleeping = five_steps();
  sleeping.header.device = "virtual";
  CHECK(training_report(sleeping, predicted(270))
            .find("5 steps of tiny on 2 ranks (gloo, virtual)\n") == 0);
  MeasuredStep overflow = five_steps().steps[4];
  overflow.skipped = true;
  CHECK(step_line(overflow, 50).find("no update") != std::string::npos);
}

}  // namespace
}  // namespace penstock
