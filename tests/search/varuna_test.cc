// Plans with a run-time rule: evaluated, written, read back and judged by the checker, which
// carries the rule out by itself.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/check.h"
#include "core/plan_file.h"
#include "search/evaluate.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::Random;

TEST_CASE("plans with Varuna's rules hold before the checker") {
  Random random(42);
  int held = 0;
  for (int round = 0; round < 200; ++round) {
    const int sections = random.between(2, 6);
    const ModelProfile model = testing::random_model(random, sections);
    ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    cluster.device_types[0].memory = {1'000'000};
    Plan plan;
    for (const char* name : {"varuna", "varuna-runtime", "varuna-strict"}) {
      plan.schedule = name;
      plan.recompute = "full";
      plan.pipeline = random.between(1, std::min(sections, 4));
      plan.data = random.between(1, 2);
      plan.global_batch = plan.data * random.between(1, 12);
      plan.device = "gpu";
      const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
      const EvaluatedPlan evaluated = evaluate(inputs, plan);
      if (evaluated.why_not) continue;
      ++held;
      const PlanFile file = to_plan_file(inputs, evaluated);
      const CheckReport report = check(file);
      for (const Finding& finding : report.findings)
        FAIL_CHECK(finding.place, ": ", finding.message);
      CHECK(report.replayed == evaluated.evaluation.step_time);
      const PlanFile read = read_plan(write_plan(file), "plan");
      CHECK(check(read).findings.empty());
      CHECK(replay_plan_file(read).evaluation.step_time == evaluated.evaluation.step_time);
    }
  }
  CHECK(held > 100);
}

}  // namespace
}  // namespace penstock
