// What the verbs ask of a plan costs as much for many micro-batches as for few: `predict` and
// `report` evaluate it, `simulate`, `check` and `explain` replay its file, a calibrated interval
// and `explain` replay it at other prices. Counted in actions that are carried out one by one.
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "search/check_rolled_up.h"
#include "search/evaluate.h"
#include "search/plan_program.h"
#include "search/reprice.h"
#include "search/rolled_program.h"
#include "search/steady_plan.h"
#include "simulator/meeting_lists.h"
#include "simulator/simulate_schedule.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::Random;

std::vector<ExecutorModel> executors() {
  ExecutorModel blocks, rendezvous, deepspeed;
  blocks.transfer = TransferMode::kSenderBlocks;
  rendezvous.transfer = deepspeed.transfer = TransferMode::kRendezvous;
  deepspeed.issue = IssueOrder::kDeepSpeed;
  return {ExecutorModel{}, blocks, rendezvous, deepspeed};
}

// Actions that are carried out one by one to say everything of the plan, and its step time alone.
struct Counted {
  std::int64_t everything = 0, step = 0;
};

Counted counted(const EvaluatedPlan& evaluated, const ExecutorModel& executor) {
  const Plan& plan = evaluated.plan;
  const StagePrices& prices = evaluated.prices;
  if (!can_simulate_schedule(executor)) {
    const auto told = judged_by_few(plan, evaluated.ties, false, prices, executor);
    ProgramCache programs(executor);
    const auto step = steady_summary(plan, evaluated.ties, false, prices, executor, programs);
    REQUIRE((told && step));
    return {told->replayed, step->replayed};
  }
  const PlanSchedules schedules = schedules_of(plan);
  const LoweringOptions options = lowering_of(plan, evaluated.ties, false, executor);
  ReplayBuffers buffers;
  return {simulate_schedule_attributed(schedules.pipelines, options, prices, executor, buffers)
              .work.steps,
          simulate_schedule_counted(schedules.pipelines, options, prices, executor, buffers)
              .work.steps};
}

// Seen, and said in docs/performance.md ("What still grows with M").
bool is_written_out(const ExecutorModel& executor, const Plan& plan) {
  return ranks_meet(executor) && plan.schedule == "looped-bfs";
}

// Nothing where transfers deadlock. All others without the Program of so many micro-batches.
std::optional<Counted> counted(const PlanInputs& inputs, const Plan& plan) {
  try {
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    CHECK(evaluated.program.actions.empty() != is_written_out(inputs.executor, plan));
    if (is_written_out(inputs.executor, plan)) return std::nullopt;
    const PlanFile file = to_rolled_up_plan_file(inputs, evaluated);
    REQUIRE(is_rolled_up(file));
    CHECK(check_rolled_up(file).has_value());
    return counted(evaluated, inputs.executor);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// A period may begin a little later or end a little earlier, but what is replayed does not grow.
TEST_CASE("evaluated or replayed, 16 times as many micro-batches take no more than twice as many") {
  const ModelProfile model = model_of_sections(std::vector<Costs>(8, Costs{10, 20, 10, 0, 5, 4}));
  const ClusterSpec cluster = cluster_of({1, 4, 1'000'000, 1e9});
  int checked = 0;
  for (const ExecutorModel& executor : executors()) {
    const PlanInputs inputs{&model, &cluster, executor, std::nullopt};
    for (const ScheduleKind* kind : testing::static_kinds()) {
      Plan plan;
      plan.device = "gpu";
      plan.pipeline = 4;
      testing::set_schedule(plan, *kind, 2);
      plan.global_batch = 5040;
      if (!why_no_program(plan).empty()) continue;
      INFO(kind->name, " ", static_cast<int>(executor.transfer), " ",
           static_cast<int>(executor.issue));
      const auto few = counted(inputs, plan);
      if (!few) continue;
      plan.global_batch = 16 * 5040;
      const auto many = counted(inputs, plan);
      REQUIRE(many.has_value());
      CHECK(many->everything < 2 * few->everything);
      CHECK(many->step < 2 * few->step);
      ++checked;
    }
  }
  CHECK(checked > 20);
}

// Whether it was evaluated without its Program or with it.
TEST_CASE("at other prices a plan takes as long rolled up as written out") {
  Random random(5);
  int compared = 0;
  for (int i = 0; i < testing::draws(100); ++i) {
    CAPTURE(i);
    const int sections = random.between(6, 12);
    const ModelProfile model = testing::random_model(random, sections);
    ClusterSpec cluster = testing::random_cluster(random, 2, 2);
    const auto all = executors();
    const int which = random.between(0, 3);
    const PlanInputs inputs{&model, &cluster, all[static_cast<std::size_t>(which)], std::nullopt};
    Plan plan;
    plan.device = "gpu";
    plan.pipeline = 2;
    plan.data = random.between(1, 2);
    testing::set_schedule(plan, testing::random_static_kind(random), 2);
    plan.global_batch = plan.data * 2 * random.between(1, 80) + random.between(0, 1);
    try {
      const EvaluatedPlan rolled = evaluate(inputs, plan);
      if (rolled.evaluation.ranks.empty()) continue;
      const EvaluatedPlan written = evaluate_in_full(inputs, plan);
      for (LinkLevel& level : cluster.levels) level.latency += Duration{77};
      ExecutorModel slower = inputs.executor;
      slower.per_action += Duration{1000};
      CHECK(repriced_step(rolled, model, cluster, slower) ==
            repriced_step(written, model, cluster, slower));
      if (rolled.program.actions.empty()) ++compared;
    } catch (const Error&) {  // transfers deadlock
    }
  }
  CHECK(compared > testing::least(40));
}

}  // namespace
}  // namespace penstock
