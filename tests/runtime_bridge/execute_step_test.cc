#include "runtime_bridge/execute_step.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_program.h"
#include "search/plan_program.h"
#include "simulator/schedules/schedules.h"
#include "tests/runtime_bridge/ring_plans.h"
#include "tests/runtime_bridge/ring_work.h"
#include "tests/training/buffers.h"
#include "training/loopback.h"

namespace penstock {
namespace {

using namespace penstock::testing;

// Carries out so many steps of the plan with a thread per rank, and compares every loss, norm and
// weight with the plain loop over samples.
void check_run(const RingModel& model, const PlanFile& file, int steps = 2,
               const ExecuteOptions& options = {}) {
  const auto programs = rank_programs(file, ModelDescription{}, {});
  const std::vector<RingStep> expected = plain_steps(model, file, steps);
  const RingWeights& weights = expected.back().weights;

  LoopbackOptions loopback;
  loopback.time_out = std::chrono::seconds(30);
  LoopbackHub hub(static_cast<int>(programs.size()), loopback);
  std::vector<std::unique_ptr<RingWork>> works;
  for (const RankProgram& program : programs) {
    works.push_back(std::make_unique<RingWork>(model, program.setup));
  }
  std::vector<std::vector<NormShare>> sums(programs.size());
  const std::string failure = first_failure(static_cast<int>(programs.size()), [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto transport = hub.transport(rank);
    try {
      StepExecutor executor(programs[r], *works[r], *transport, options);
      for (int step = 0; step < steps; ++step) {
        const StepRecord record = executor.execute(step);
        sums[r].push_back(record.all);
        for (std::size_t i = 0; i < record.start.size(); ++i) {
          if (record.start[i] == SteadyTime{} || record.end[i] < record.start[i]) {
            throw std::logic_error("no time was taken of action " + std::to_string(i));
          }
        }
      }
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
  });
  REQUIRE(failure == "");

  for (std::size_t r = 0; r < programs.size(); ++r) {
    CAPTURE(r);
    CHECK(works[r]->is_empty());
    for (int step = 0; step < steps; ++step) {
      const NormShare& all = expected[static_cast<std::size_t>(step)].all;
      REQUIRE(sums[r][static_cast<std::size_t>(step)].loss == all.loss);
      REQUIRE(sums[r][static_cast<std::size_t>(step)].squared_norm == all.squared_norm);
    }
    for (const StageSetup& stage : programs[r].setup.stages) {
      for (int k = stage.first_section; k < stage.end_section; ++k) {
        REQUIRE(works[r]->section_weights(k) == weights.sections[static_cast<std::size_t>(k)]);
        for (std::size_t t = 0; t < model.ties.size(); ++t) {
          for (const int tied : model.ties[t].sections) {
            if (tied != k) continue;
            REQUIRE(works[r]->tied_weight(static_cast<int>(t), stage.stage) == weights.ties[t]);
          }
        }
      }
    }
  }
}

// Every schedule that a plan may name, except those with rules for run time.
std::vector<std::string> schedules() {
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (!kind.has_slices && kind.rule == RunTimeRule::kNone) names.emplace_back(kind.name);
  }
  return names;
}

TEST_CASE("every schedule trains to the weights of a plain loop, to the bit") {
  int runs = 0;
  for (const std::string& schedule : schedules()) {
    CAPTURE(schedule);
    for (const RingShape shape : {RingShape{2, 2, 1, 4}, RingShape{2, 2, 2, 8},
                                  RingShape{4, 2, 2, 8}, RingShape{3, 3, 1, 6}}) {
      CAPTURE(shape.pipeline);
      CAPTURE(shape.data);
      Plan plan = plan_of(schedule, shape);
      if (!why_no_program(plan).empty()) continue;
      const RingModel model = ring_model(2 * plan.stages_per_copy() + 1, true);
      check_run(model, ring_plan(model, plan));
      ++runs;
      if (shape.pipeline != 2) continue;
      plan.zero1 = true;
      plan.recompute = "full";
      plan.placement = Placement::kDataInner;
      check_run(model, ring_plan(model, plan));
      ++runs;
    }
  }
  CHECK(runs >= 60);
}

TEST_CASE("one rank alone, without a pipeline") {
  const RingModel model = ring_model(3, true);
  check_run(model, ring_plan(model, plan_of("gpipe", {1, 1, 1, 3})));
  check_run(model, ring_plan(model, plan_of("1f1b", {1, 1, 3, 2})));
}

TEST_CASE("a batch that divides neither among replicas nor into micro-batches") {
  // 11 samples over 3 replicas: 4, 4 and 3; in micro-batches of 2: 2, 2 and 2 with a short one.
  const RingModel model = ring_model(5, true);
  for (const bool zero1 : {false, true}) {
    Plan plan = plan_of("1f1b", {2, 1, 3, 1});
    plan.global_batch = 11;
    plan.micro_batch_size = 2;
    plan.zero1 = zero1;
    check_run(model, ring_plan(model, plan), 3);
    plan.schedule = "zb-h1";
    plan.placement = Placement::kDataInner;
    check_run(model, ring_plan(model, plan), 3);
  }
}

TEST_CASE("DeepSpeed's order, and no norm: each stage updates once its gradients are there") {
  const RingModel model = ring_model(8, true);
  ExecutorModel executor;
  executor.issue = IssueOrder::kDeepSpeed;
  executor.optimizer = OptimizerGate::kPostValidation;
  for (const char* schedule : {"1f1b", "interleaved", "zb-h2"}) {
    CAPTURE(schedule);
    Plan plan = plan_of(schedule, {2, 2, 2, 4});
    check_run(model, ring_plan(model, plan, {}, executor));
    plan.zero1 = true;
    check_run(model, ring_plan(model, plan, {}, executor));
  }
}

TEST_CASE("transfers at their place in the list, or far ahead of it") {
  const RingModel model = ring_model(12, true);
  for (const int ahead : {0, 1, 100}) {
    CAPTURE(ahead);
    ExecuteOptions options;
    options.transfers_ahead = ahead;
    options.exact_times = ahead == 1;
    check_run(model, ring_plan(model, plan_of("interleaved", {3, 2, 1, 6})), 2, options);
    check_run(model, ring_plan(model, plan_of("zb-v", {3, 2, 2, 6})), 2, options);
  }
}

TEST_CASE("Varuna's rules change the order and nothing else") {
  const RingModel model = ring_model(4, false);
  for (const char* schedule : {"varuna", "varuna-runtime"}) {
    CAPTURE(schedule);
    Plan plan = plan_of(schedule, {4, 1, 2, 6});
    plan.recompute = "full";
    check_run(model, ring_plan(model, plan));
  }
  Plan strict = plan_of("varuna-strict", {2, 1, 1, 4});
  strict.recompute = "full";
  const auto programs = rank_programs(ring_plan(model, strict), ModelDescription{}, {});
  LoopbackHub hub(2, {});
  const auto transport = hub.transport(0);
  RingWork work(model, programs[0].setup);
  CHECK_THROWS_AS(StepExecutor(programs[0], work, *transport, {}), Error);
}

// Ranks that end early or not at all.
class FailingWork : public RingWork {
 public:
  FailingWork(const RingModel& model, const RankSetup& setup, int failing)
      : RingWork(model, setup), fails_(setup.rank == failing) {}
  void compute(ActionKind kind, int stage, int micro_batch) override {
    if (fails_ && micro_batch == 1) throw std::runtime_error("the fan is off");
    RingWork::compute(kind, stage, micro_batch);
  }

 private:
  bool fails_;
};

TEST_CASE("when one rank fails, all end, and are told which and why") {
  const RingModel model = ring_model(4, false);
  const PlanFile file = ring_plan(model, plan_of("1f1b", {4, 1, 1, 4}));
  const auto programs = rank_programs(file, ModelDescription{}, {});
  LoopbackHub hub(4, {});
  const auto thrown = on_ranks(4, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    FailingWork work(model, programs[r].setup, 2);
    const auto transport = hub.transport(rank);
    StepExecutor executor(programs[r], work, *transport, {});
    try {
      executor.execute(0);
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
  });
  CHECK(thrown[2] == "the fan is off");
  for (const std::size_t other : {0U, 1U, 3U}) {
    CHECK(thrown[other] == "rank 2 ended the run: the fan is off");
  }
}

TEST_CASE("when one rank does nothing, the others end in time and name it") {
  const RingModel model = ring_model(4, false);
  const PlanFile file = ring_plan(model, plan_of("1f1b", {4, 1, 1, 4}));
  const auto programs = rank_programs(file, ModelDescription{}, {});
  LoopbackOptions options;
  options.time_out = std::chrono::milliseconds(300);
  LoopbackHub hub(4, options);
  const auto thrown = on_ranks(4, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (rank == 1) return;
    RingWork work(model, programs[r].setup);
    const auto transport = hub.transport(rank);
    StepExecutor executor(programs[r], work, *transport, {});
    try {
      executor.execute(0);
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
  });
  for (const std::size_t other : {0U, 2U, 3U}) {
    CAPTURE(thrown[other]);
    CHECK(thrown[other].find("rank 1") != std::string::npos);
  }
}

}  // namespace
}  // namespace penstock
