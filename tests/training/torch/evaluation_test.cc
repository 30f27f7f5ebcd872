#include "runtime_bridge/evaluation.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_threads.h"
#include "runtime_bridge/run_rank.h"
#include "tests/training/torch/tiny_plans.h"
#include "training/loopback.h"
#include "training/torch/cpu_device.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using namespace penstock::testing;

constexpr int kSteps = 3;

// Batch b of an evaluation is what step kSteps + b trains on: the loss that the plain loop has
// there, with the weights of its first kSteps steps, is the one that is expected.
class NextSteps : public TokenSource {
 public:
  explicit NextSteps(const TokenSource& data) : data_(data) {}
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override {
    return data_.sample(model, {id.seed, kSteps - 1 - id.step, id.sample});
  }

 private:
  const TokenSource& data_;
};

class OnePlan : public ProgramSource {
 public:
  explicit OnePlan(const PlanFile& plan) : plan_(std::make_shared<const PlanFile>(plan)) {}
  PlanForSteps plan_from(std::int64_t /*step*/) override { return {plan_, 1000}; }

 private:
  std::shared_ptr<const PlanFile> plan_;
};

class Steps : public StepObserver {
 public:
  std::vector<MeasuredStep> all;
  void step_finished(const MeasuredStep& step) override { all.push_back(step); }
};

TrainingOptions quick_options() {
  TrainingOptions options;
  options.learning_rate = 1e-2;
  options.seed = 3;
  options.schedule = LearningRateSchedule::kCosine;
  options.warmup_steps = 2;
  options.decay_steps = 6;
  return options;
}

std::vector<MeasuredStep> run(const PlanFile& file, int steps, std::int64_t every,
                              std::int64_t batches) {
  const ByteData data = tiny_data();
  const NextSteps evaluation_data(data);
  LoopbackHub hub(file.plan.devices(), {});
  Steps observed;
  on_rank_threads(file.plan.devices(), [&](int rank) {
    const auto transport = hub.transport(rank);
    const auto device = make_cpu_device();
    TorchState state(*file.description, quick_options(), *device, /*bucket_bytes=*/4096);
    OnePlan source(file);
    RankParts parts;
    parts.state = &state;
    parts.make_work = [&](const auto& /*plan*/, const RankProgram& program) {
      auto work = std::make_unique<TorchWork>(program.setup, state, data);
      work->evaluate_on(evaluation_data);
      return work;
    };
    RunRankOptions options;
    options.end_step = steps;
    options.training = quick_options();
    options.evaluation = {every, batches};
    run_rank(source, parts, *transport, options, {&observed, nullptr, nullptr});
  });
  return observed.all;
}

void check_layout(const TinyLayout& layout, const ModelDescription& model = tiny_model()) {
  CAPTURE(layout.schedule);
  const TinyPlan plan = tiny_plan(model, layout);
  REQUIRE(plan.why_not == "");
  const ReferenceRun expected =
      reference_training(whole_job(plan.file, quick_options()), tiny_data(), kSteps + 2);
  // At the end, since 1000 steps are never done.
  const std::vector<MeasuredStep> steps = run(plan.file, kSteps, 1000, 1);
  REQUIRE(steps.size() == kSteps);
  CHECK_FALSE(steps[0].evaluation);
  REQUIRE(steps.back().evaluation);
  CHECK(steps.back().evaluation->loss == doctest::Approx(expected.losses[kSteps]).epsilon(1e-10));
  // In between, the steps are what they are without.
  const std::vector<MeasuredStep> more = run(plan.file, kSteps + 2, 1, 2);
  for (std::size_t i = 0; i < more.size(); ++i) {
    CHECK(more[i].loss == doctest::Approx(expected.losses[i]).epsilon(1e-10));
    CHECK(more[i].evaluation.has_value());
  }
}

TEST_CASE("the loss of an evaluation is a plain loop's, under every kind of plan") {
  check_layout({"1f1b", 1, 1, 1, 8, 8});
  check_layout({"1f1b", 2, 1, 1, 1, 8});
  check_layout({"gpipe", 2, 1, 2, 2, 8, /*recompute=*/true});
  check_layout({"interleaved", 2, 2, 1, 1, 8});
  check_layout({"zb-h1", 4, 1, 1, 1, 8});
  check_layout({"zb-v", 2, 2, 1, 1, 8});
  check_layout({"dualpipe", 2, 1, 1, 1, 8});
  check_layout({"1f1b", 2, 1, 2, 1, 8, false, /*zero1=*/true});
  check_layout({"1f1b", 1, 1, 2, 1, 8, false, /*zero1=*/true, {}, Sharding::kFsdp});
}

TEST_CASE("masked models are judged by the tokens that are masked") {
  const TinyPlan plan = tiny_plan(tiny_model(ModelFamily::kBert), {"1f1b", 2, 1, 2, 1, 8});
  const std::vector<MeasuredStep> divided = run(plan.file, 1, 1, 3);
  const TinyPlan alone = tiny_plan(tiny_model(ModelFamily::kBert), {"1f1b", 1, 1, 1, 8, 8});
  const std::vector<MeasuredStep> whole = run(alone.file, 1, 1, 3);
  REQUIRE(divided.back().evaluation);
  REQUIRE(whole.back().evaluation);
  CHECK(divided.back().evaluation->loss ==
        doctest::Approx(whole.back().evaluation->loss).epsilon(1e-10));
}

TEST_CASE("the learning rate of a step is in its log") {
  const TinyPlan plan = tiny_plan(tiny_model(), {"1f1b", 1, 1, 1, 8, 8});
  const std::vector<MeasuredStep> steps = run(plan.file, 3, 0, 0);
  CHECK(steps[0].learning_rate == 0.005);
  CHECK(steps[1].learning_rate == 0.01);
  CHECK(steps[2].learning_rate == 0.01);  // the first of the cosine
}

RankAction action(ActionKind kind, int needs = kNone) {
  RankAction made;
  made.kind = kind;
  made.needs = needs;
  return made;
}

TEST_CASE("what is left of a list is its forwards, in order, waiting for the same receives") {
  RankProgram program;
  program.actions = {action(ActionKind::kReceiveActivation), action(ActionKind::kForward, 0),
                     action(ActionKind::kReceiveGradient),   action(ActionKind::kReceiveActivation),
                     action(ActionKind::kFusedBackward, 2),  action(ActionKind::kForward, 3),
                     action(ActionKind::kSendGradient),      action(ActionKind::kReduceGradient),
                     action(ActionKind::kOptimizer)};
  const std::vector<RankAction> left = forward_only(program).actions;
  CHECK(left == std::vector<RankAction>{
                    action(ActionKind::kReceiveActivation), action(ActionKind::kForward, 0),
                    action(ActionKind::kReceiveActivation), action(ActionKind::kForward, 2)});
}

TEST_CASE("an evaluation comes after every so many steps and after the last") {
  CHECK_FALSE(is_evaluated({0, 1}, 10, true));
  CHECK(is_evaluated({5, 1}, 10, false));
  CHECK_FALSE(is_evaluated({5, 1}, 11, false));
  CHECK(is_evaluated({5, 1}, 11, true));
}

}  // namespace
}  // namespace penstock
