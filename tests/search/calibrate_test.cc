#include "search/calibrate.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/check.h"
#include "core/error.h"
#include "costmodel/calibrated_profile.h"
#include "search/evaluate.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

// Eight equal layers: F 300 + 100 b, B 500 + 200 b us, so launches and compute differ; a boundary
// of 1 MB per sample.
ModelProfile affine_model() {
  ModelProfile model = testing::model_of_sections(std::vector<testing::Costs>(8));
  for (SectionType& type : model.section_types) {
    for (Measurement& m : type.measurements) {
      const int b = m.micro_batch_size;
      m.forward.median = std::chrono::microseconds{300 + 100 * b};
      m.fused_backward = Timing{std::chrono::microseconds{500 + 200 * b}, Duration{}};
      m.boundary = {1'000'000 * b};
    }
  }
  return model;
}

struct Shape {
  int pipeline = 1, data = 1, samples = 1, micro_batches = 1;
};
Plan plan_of(const Shape& shape) {
  Plan plan;
  plan.pipeline = shape.pipeline;
  plan.data = shape.data;
  plan.micro_batch_size = shape.samples;
  plan.global_batch = shape.data * shape.samples * shape.micro_batches;
  plan.device = "gpu";
  for (int s = 0; s <= shape.pipeline; ++s) plan.cuts.push_back(8 * s / shape.pipeline);
  return plan;
}

const std::vector<Shape> kShapes{{1, 1, 1, 2}, {1, 1, 1, 16}, {1, 1, 8, 4}, {1, 2, 4, 8},
                                 {2, 1, 1, 8}, {2, 1, 2, 4},  {2, 2, 4, 8}, {2, 1, 8, 16},
                                 {4, 1, 1, 4}, {4, 1, 1, 32}, {4, 2, 2, 8}, {4, 1, 4, 16},
                                 {4, 1, 8, 8}, {8, 1, 1, 16}, {8, 1, 8, 32}};

struct World {
  ModelProfile model = affine_model();
  ClusterSpec cluster = testing::cluster_of({4, 4, 1'000'000'000, 1e10});
  ExecutorModel executor;
  MeasuredRuns runs;

  World() { executor.transfer = TransferMode::kSenderBlocks; }

  [[nodiscard]] Duration predicted(const Plan& plan, const Calibration& calibration) const {
    ClusterSpec calibrated = cluster;
    calibrated.calibration = calibration;
    const ModelProfile profile = calibrated_profile(model, calibration);
    return evaluate({&profile, &calibrated, calibration.executor, std::nullopt}, plan)
        .evaluation.step_time;
  }
  // Runs that take exactly what `truth` says.
  void run(const std::vector<Shape>& shapes, const Calibration& truth) {
    for (const Shape& shape : shapes) {
      MeasuredRun run;
      run.name = "run" + std::to_string(runs.runs.size());
      run.plan = plan_of(shape);
      run.step_time = predicted(run.plan, truth);
      runs.runs.push_back(std::move(run));
    }
  }
  [[nodiscard]] CalibrationResult calibrated() const {
    return calibrate(model, cluster, runs, executor, "runs.json");
  }
};

Calibration truth_of(const World& world) {
  Calibration truth;
  truth.device = "gpu";
  truth.executor = world.executor;
  truth.executor.per_action = std::chrono::microseconds{40};
  truth.executor.per_transfer = std::chrono::microseconds{250};
  truth.executor.per_step = std::chrono::milliseconds{3};
  truth.factors.compute = 1.2;
  truth.factors.small_kernels = 0.7;
  truth.factors.transfer = 1.5;
  return truth;
}

bool fitted(const CalibrationResult& result, const std::string& name) {
  for (const FittedTerm& term : result.terms) {
    if (term.name == name) return term.state == TermState::kFitted;
  }
  return false;
}
TermState state(const CalibrationResult& result, const std::string& name) {
  for (const FittedTerm& term : result.terms) {
    if (term.name == name) return term.state;
  }
  return TermState::kFitted;
}

void check_close(const Calibration& found, const Calibration& truth, double tolerance) {
  const auto close = [&](double a, double b) { CHECK(a == doctest::Approx(b).epsilon(tolerance)); };
  const auto ns = [](Duration d) { return static_cast<double>(d.count()); };
  close(found.factors.compute, truth.factors.compute);
  close(found.factors.small_kernels, truth.factors.small_kernels);
  close(found.factors.transfer, truth.factors.transfer);
  close(ns(found.executor.per_action), ns(truth.executor.per_action));
  close(ns(found.executor.per_transfer), ns(truth.executor.per_transfer));
  close(ns(found.executor.per_step), ns(truth.executor.per_step));
}

TEST_CASE("the terms that made the runs are found again, to rounding") {
  World world;
  const Calibration truth = truth_of(world);
  world.run(kShapes, truth);
  const CalibrationResult result = world.calibrated();
  check_close(result.calibration, truth, 1e-3);
  CHECK(result.calibration.error < 1e-4);
  CHECK(result.calibration.executor.transfer == TransferMode::kSenderBlocks);
  CHECK(result.calibration.runs == static_cast<int>(kShapes.size()));
}

TEST_CASE("what is reported is what plans on the calibrated cluster take") {
  World world;
  world.run(kShapes, truth_of(world));
  world.runs.runs[3].step_time += world.runs.runs[3].step_time / 5;
  world.runs.runs[8].step_time -= world.runs.runs[8].step_time / 7;
  const CalibrationResult result = world.calibrated();
  for (const RunFit& run : result.runs) {
    CHECK(run.predicted == world.predicted(run.plan, result.calibration));
  }
  // And what the independent judge finds in such a plan's file.
  ClusterSpec cluster = world.cluster;
  cluster.calibration = result.calibration;
  const ModelProfile profile = calibrated_profile(world.model, result.calibration);
  const PlanInputs inputs{&profile, &cluster, result.calibration.executor, std::nullopt};
  const Plan& plan = world.runs.runs[6].plan;
  CHECK(check(to_plan_file(inputs, evaluate(inputs, plan))).findings.empty());
}

TEST_CASE("a run that is far off hardly moves the terms, and carries the error") {
  World world;
  const Calibration truth = truth_of(world);
  world.run(kShapes, truth);
  world.runs.runs[7].step_time *= 2;
  const CalibrationResult result = world.calibrated();
  CHECK(result.calibration.factors.compute == doctest::Approx(1.2).epsilon(0.02));
  CHECK(result.calibration.factors.small_kernels == doctest::Approx(0.7).epsilon(0.05));
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const RunFit& run = result.runs[i];
    const double error = relative_error(run.left_out, run.measured);
    if (i == 7) CHECK(error == doctest::Approx(-0.5).epsilon(0.05));
    if (i != 7) CHECK(error == doctest::Approx(0.0).epsilon(0.05));
  }
  // The root of 0.25 / 15, and what little the others are off.
  CHECK(result.calibration.error == doctest::Approx(0.129).epsilon(0.1));
}

TEST_CASE("terms that the runs say nothing about stay neutral") {
  World world;
  const Calibration truth = truth_of(world);
  world.run({{1, 1, 4, 2}, {1, 1, 4, 4}, {1, 1, 4, 8}, {1, 1, 4, 16}}, truth);
  const CalibrationResult result = world.calibrated();
  // One stage: no transfers. One micro-batch size: compute and launches go together. A cost per
  // action is one per micro-batch and, for the optimizer, one per step; the latter two say it all.
  CHECK(state(result, "transfer") == TermState::kNoEffect);
  CHECK(state(result, "per transfer") == TermState::kNoEffect);
  CHECK(state(result, "reduction") == TermState::kNoEffect);
  CHECK(fitted(result, "compute"));
  CHECK(state(result, "small kernels") == TermState::kNotIdentified);
  CHECK(state(result, "per action") == TermState::kNotIdentified);
  CHECK(fitted(result, "per step"));
  CHECK(result.calibration.factors.transfer == 1.0);
  CHECK(result.calibration.factors.small_kernels == result.calibration.factors.compute);
  CHECK(result.calibration.executor.per_action == Duration{});
  CHECK(result.calibration.error < 1e-3);
}

TEST_CASE("nothing is negative, and no transfer is faster than its link") {
  World world;
  Calibration truth = truth_of(world);
  truth.executor.per_action = truth.executor.per_transfer = truth.executor.per_step = Duration{};
  truth.factors = {0.9, 0.9, 0.25, 1.0, 0.0};
  world.run(kShapes, truth);
  const CalibrationResult result = world.calibrated();
  for (const FittedTerm& term : result.terms) CHECK(term.value >= 0.0);
  CHECK(result.calibration.factors.transfer == 1.0);
}

TEST_CASE("reductions are fitted to their own times") {
  // Two devices per stage on two nodes at 1e10 B/s: 40 B of gradients... the model's gradients are
  // made large enough to count: 10 MB a layer.
  World world;
  for (SectionType& type : world.model.section_types) type.parameters = {{1, 10'000'000}};
  world.cluster = testing::cluster_of({8, 1, 1'000'000'000'000, 1e10});
  const Calibration truth = truth_of(world);
  world.run({{1, 1, 4, 8}, {1, 2, 4, 8}, {2, 2, 4, 8}, {4, 2, 4, 8}, {2, 4, 4, 8}, {2, 1, 4, 4}},
            truth);
  for (MeasuredRun& run : world.runs.runs) {
    // 2 (D - 1) / D bytes over the link, twice as slow as it says, and 50 ps to copy a byte; one
    // byte per gradient, and the fullest stage.
    const double bytes = 80e6 / run.plan.pipeline;
    const double wire = 2.0 * (run.plan.data - 1) / run.plan.data * bytes / 1e10;
    run.reduce_gradients = round_up_to_ns(2.0 * wire + 50e-12 * bytes);
  }
  const CalibrationResult result = world.calibrated();
  CHECK(fitted(result, "reduction"));
  CHECK(fitted(result, "reduction per byte"));
  CHECK(result.calibration.factors.reduction == doctest::Approx(2.0).epsilon(1e-3));
  CHECK(result.calibration.factors.reduction_ps_per_byte == doctest::Approx(50.0).epsilon(1e-3));
  CHECK(*result.runs[3].predicted_reduction == *result.runs[3].measured_reduction);
}

TEST_CASE("runs that cannot be priced, or do not say enough, are refused by name") {
  const auto refusal = [](const World& world) {
    try {
      (void)world.calibrated();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  World world;
  world.run({{1, 1, 1, 1}}, truth_of(world));
  CHECK(refusal(world) ==
        "runs.json: /runs: expected at least 2 runs, got 1; what is fitted to one run says nothing "
        "about its error");
  world.run({{2, 1, 1, 4}}, truth_of(world));
  CHECK(refusal(world) == "accepted");
  World cut = world;
  cut.runs.runs[1].plan.cuts = {0, 4, 7};
  CHECK(refusal(cut) ==
        "runs.json: run 'run1': its cuts run from 0 to 7, but the sections of toy from 0 to 8");
  World unmeasured = world;
  unmeasured.runs.runs[1].plan.tensor = 2;
  CHECK(refusal(unmeasured).starts_with("runs.json: run 'run1': no measurement of "));
}

}  // namespace
}  // namespace penstock
