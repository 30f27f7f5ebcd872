#include "search/check_rolled_up.h"

#include <functional>

#include <doctest/doctest.h>

#include "search/evaluate.h"
#include "search/rolled_program.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

struct Both {
  PlanFile all, rolled;
};

// A random model on random machines; nothing where the plan does not fit.
std::optional<Both> random_files(Random& random) {
  const ModelProfile model = testing::random_model(random, random.between(6, 12));
  const ClusterSpec cluster = testing::random_cluster(random, 2, 4);
  const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  Plan plan;
  plan.device = cluster.device_types.front().name;
  plan.pipeline = random.between(2, 3);
  plan.data = random.between(1, 2);
  plan.micro_batch_size = 1;
  testing::set_schedule(plan, testing::random_static_kind(random), 2);
  plan.global_batch = plan.data * (plan.pipeline * random.between(60, 70)) + random.between(0, 1);
  if (!why_no_program(plan).empty()) return {};
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.evaluation.ranks.empty()) return {};
  Both both{to_plan_file(inputs, evaluated), to_rolled_up_plan_file(inputs, evaluated)};
  if (!is_rolled_up(both.rolled)) return {};
  return both;
}

// A report of the rolled-up file is the checker's; where there is none, the checker finds
// something.
void compare(const Both& both, int& good, int& bad) {
  const CheckReport expected = check(both.all);
  const auto report = check_rolled_up(both.rolled);
  REQUIRE(report.has_value() == expected.findings.empty());
  ++(report ? good : bad);
  if (!report) return;
  CHECK(report->replayed == expected.replayed);
  CHECK(report->memory == expected.memory);
}

TEST_CASE("rolled up, a file has findings exactly where the checker has some of all actions") {
  const std::vector<std::function<void(PlanFile&)>> changes{
      [](PlanFile& file) { file.prediction.makespan += Duration{1}; },
      [](PlanFile& file) { file.prediction.step_time_high += Duration{1}; },
      [](PlanFile& file) { file.prediction.ranks.back().time.busy -= Duration{1}; },
      [](PlanFile& file) { file.prediction.ranks.front().time.order += Duration{1}; },
      [](PlanFile& file) { file.prediction.ranks.front().memory.stash += Bytes{1}; },
      [](PlanFile& file) { file.prediction.ranks.back().capacity += Bytes{1}; },
      [](PlanFile& file) { file.prices.compute.front().forward.duration += Duration{1}; },
      [](PlanFile& file) { file.cluster.memory_per_device = Bytes{1}; },
      [](PlanFile& file) { file.prediction.longest_span -= Duration{1}; },
      [](PlanFile& file) { file.prices.step.back().gradients += Bytes{8}; }};
  Random random(12);
  int good = 0, bad = 0;
  for (int n = 0; n < testing::draws(60); ++n) {
    auto both = random_files(random);
    if (!both) continue;
    CAPTURE(n);
    CAPTURE(both->all.plan.schedule);
    compare(*both, good, bad);
    changes[static_cast<std::size_t>(n) % changes.size()](both->all);
    changes[static_cast<std::size_t>(n) % changes.size()](both->rolled);
    compare(*both, good, bad);
  }
  CHECK(good > testing::least(15));
  CHECK(bad > testing::least(15));
}

}  // namespace
}  // namespace penstock
