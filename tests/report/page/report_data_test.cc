#include "report/page/report_data.h"

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

ReportedPlan tiny(const std::string& title) {
  const PlanFile file = tiny_plan();
  return {.title = title,
          .role = "ranked",
          .plan = file.plan,
          .evaluation = file.prediction,
          .reason = "a reason",
          .command = "",
          .placed = ""};
}

std::int64_t number(const Json& json, const std::string& key) {
  return std::stoll(json.find(key)->text());
}

// tests/core/tiny_plan.h: a makespan of 10,110 ns, of which both ranks compute 6,100.
TEST_CASE("the parts of the busiest rank sum to the makespan, and each says what it costs") {
  ReportData data;
  data.plans.push_back(tiny("1"));
  const Json json = to_json(data);
  std::int64_t sum = 0;
  for (const Json& part : json.find("parts")->elements()) {
    sum += number(part, "time_ns");
    CHECK(number(part, "step_time_if_zero_ns") == 10'110 - number(part, "time_ns"));
  }
  CHECK(sum == 10'110);
  CHECK(number(json.find("parts")->elements()[0], "time_ns") == 6'100);
  CHECK(json.find("staircase") == nullptr);
  CHECK(json.find("validation") == nullptr);
  CHECK(json.find("pareto") == nullptr);
}

// 10,110 ns against 9,099: a tenth is gained.
TEST_CASE("what a change gains is its share of the step") {
  ReportData data;
  data.plans.push_back(tiny("1"));
  data.changes.push_back({"transfers took no time", Duration{9'099}});
  const Json json = to_json(data);
  const Json& change = json.find("changes")->elements().at(0);
  CHECK(std::stod(change.find("gain")->text()) == doctest::Approx(0.1));
}

TEST_CASE("of a search the front is told by index, and what is not ranked apart") {
  ReportData data;
  data.plans = {tiny("1"), tiny("2"), tiny("3")};
  data.plans[0].on_pareto_front = data.plans[2].on_pareto_front = true;
  data.pareto_plans = {tiny("front 1")};
  data.infeasible = {tiny("b=2")};
  data.search.emplace();
  const Json json = to_json(data);
  const auto& front = json.find("pareto")->elements();
  REQUIRE(front.size() == 2);
  CHECK(front[0].text() == "0");
  CHECK(front[1].text() == "2");
  CHECK(json.find("pareto_plans")->elements().size() == 1);
  CHECK(json.find("infeasible")->elements().at(0).find("why")->text() == "a reason");
}

TEST_CASE("a number of GPUs has a plan or says why not") {
  ReportData data;
  data.staircase.push_back(
      {.gpus = 1, .plan = {}, .evaluation = {}, .why_not = "nothing fits on fewer than 2 GPUs"});
  data.staircase.push_back({.gpus = 3,
                            .plan = tiny_plan().plan,
                            .evaluation = tiny_plan().prediction,
                            .same_as_before = true,
                            .why_not = ""});
  const Json json = to_json(data);
  const auto& steps = json.find("staircase")->elements();
  CHECK(steps.at(0).find("why_not")->text() == "nothing fits on fewer than 2 GPUs");
  CHECK(steps.at(0).find("words") == nullptr);
  CHECK(number(steps.at(1), "gpus_used") == 2);
  CHECK(steps.at(1).find("same_as_before")->boolean());
}

TEST_CASE("when nothing fits the verdict says what came closest") {
  ReportData data;
  data.search.emplace();
  data.search->nearest_miss = Rejection{"stage 0 over memory", 1, Bytes{512}, Bytes{512}, ""};
  CHECK(to_json(data).find("verdict")->find("text")->text() ==
        "No plan fits. Nearest miss: stage 0 over memory by 512 B.");
  data.search->complete = false;
  CHECK(to_json(data).find("verdict")->find("text")->text() ==
        "No plan was found before the search was stopped.");
}

}  // namespace
}  // namespace penstock
