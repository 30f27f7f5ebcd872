#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include "simulator/schedules/schedules.h"
#include "tests/training/torch/tiny_plans.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using namespace penstock::testing;

TrainingOptions quick_options() {
  TrainingOptions options;
  options.learning_rate = 1e-2;
  options.weight_decay = 0.1;
  options.seed = 3;
  return options;
}

// References are the same for many layouts: those of the double-precision GPT are kept.
class Oracle {
 public:
  const ReferenceRun& run(const PlanFile& file, const TrainingOptions& options, int steps) {
    const auto key = std::make_pair(file.plan.global_batch, steps);
    auto found = runs_.find(key);
    if (found == runs_.end()) {
      found = runs_.emplace(key, reference_training(whole_job(file, options), tiny_data(), steps))
                  .first;
    }
    return found->second;
  }

 private:
  std::map<std::pair<int, int>, ReferenceRun> runs_;
};

void check_equal(const PlanFile& file, const TrainingOptions& options, int steps,
                 const ReferenceRun& expected, double tolerance) {
  const TrainedPlan trained = train(file, options, steps, expected);
  CHECK(distance(trained.losses, expected.losses) <= tolerance);
  CHECK(distance(trained.gradient_norms, expected.gradient_norms) <= tolerance);
  CHECK(trained.weights <= tolerance);
  CHECK(trained.not_split.empty());
}

// Trains a layout in double precision and compares it with the plain loop.
void check_layout(const TinyLayout& layout, int steps = 20,
                  const TrainingOptions& options = quick_options(),
                  ModelDescription model = tiny_model()) {
  CAPTURE(layout.schedule);
  CAPTURE(layout.pipeline);
  CAPTURE(layout.chunks);
  CAPTURE(layout.data);
  CAPTURE(layout.global_batch);
  const TinyPlan plan = tiny_plan(model, layout);
  REQUIRE(plan.why_not == "");
  check_equal(plan.file, options, steps,
              reference_training(whole_job(plan.file, options), tiny_data(), steps), 1e-10);
}

// P, V where the schedule leaves it open, D, b and the batch, such that every schedule allows it.
const std::vector<TinyLayout>& layouts_of_all() {
  static const std::vector<TinyLayout> kLayouts{{"", 2, 4, 1, 2, 8},    // 4 micro-batches
                                                {"", 4, 2, 1, 1, 8},    // 8
                                                {"", 2, 2, 2, 2, 16}};  // 4 per replica
  return kLayouts;
}

// What runs cannot do: cut sequences, wait for whichever of two messages comes first.
bool is_supported(const ScheduleKind& kind) {
  return !kind.has_slices && kind.rule != RunTimeRule::kVarunaStrict;
}

TEST_CASE("every schedule trains the same model: losses, norms and weights are those of one loop") {
  at::set_num_threads(1);
  Oracle oracle;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (!is_supported(kind)) continue;
    for (TinyLayout layout : layouts_of_all()) {
      layout.schedule = kind.name;
      CAPTURE(layout.schedule);
      CAPTURE(layout.pipeline);
      CAPTURE(layout.data);
      const TinyPlan plan = tiny_plan(tiny_model(), layout);
      CHECK(plan.why_not == "");
      if (!plan.why_not.empty()) continue;
      check_equal(plan.file, quick_options(), 20, oracle.run(plan.file, quick_options(), 20),
                  1e-10);
    }
  }
}

TEST_CASE("twenty steps: several pipelines, chunks, replicas and micro-batch sizes") {
  check_layout({"1f1b", 4, 1, 1, 2, 12});
  check_layout({"1f1b", 1, 1, 3, 2, 12});
  check_layout({"zb-h1", 2, 1, 2, 1, 8});
}

TEST_CASE("batches that divide neither by replicas nor by micro-batches") {
  // 11 samples: 6 and 5, in micro-batches of 2, 2, 2 and 2, 2, 1.
  check_layout({"1f1b", 2, 1, 2, 2, 11});
  check_layout({"gpipe", 2, 1, 3, 2, 7}, 8);
}

TEST_CASE("tied weights on several ranks, on several stages of one rank, and in several replicas") {
  ModelDescription tied = tiny_model();
  tied.tied_embedding = true;
  check_layout({"1f1b", 4, 1, 1, 1, 8}, 20, quick_options(), tied);
  check_layout({"zb-v", 2, 2, 1, 1, 8}, 8, quick_options(), tied);  // first and last on rank 0
  check_layout({"1f1b", 2, 1, 2, 1, 8}, 8, quick_options(), tied);
  check_layout({"dualpipe", 4, 2, 1, 1, 8}, 8, quick_options(), tied);
}

TEST_CASE("ZeRO-1, with ties and clipping") {
  ModelDescription tied = tiny_model();
  tied.tied_embedding = true;
  TrainingOptions clipped = quick_options();
  clipped.clip_norm = 0.5;
  check_layout({"1f1b", 2, 1, 3, 1, 9, false, true}, 20, quick_options());
  check_layout({"1f1b", 2, 1, 2, 1, 8, false, true}, 20, clipped, tied);
  check_layout({"dualpipe", 2, 2, 1, 1, 8, false, true}, 8, clipped);
}

TEST_CASE("recomputing") {
  check_layout({"1f1b", 2, 1, 2, 1, 8, true}, 20);
  check_layout({"zb-h1", 4, 1, 1, 1, 8, true}, 8);
}

TEST_CASE("SGD with momentum, BERT and MLP in a pipeline") {
  ModelDescription bert = tiny_model(ModelFamily::kBert);
  bert.optimizer = OptimizerKind::kSgd;
  TrainingOptions momentum = quick_options();
  momentum.momentum = 0.9;
  momentum.learning_rate = 0.05;
  check_layout({"zb-h1", 2, 1, 2, 2, 8}, 20, momentum, bert);
  check_layout({"1f1b", 2, 1, 1, 2, 8}, 8, quick_options(), tiny_model(ModelFamily::kMlp));
}

TEST_CASE("in single precision losses and weights are within 1e-4 of the plain loop's") {
  const ModelDescription model = tiny_model(ModelFamily::kGpt, Precision::kFloat32);
  TrainingOptions options = quick_options();
  options.epsilon = 1e-5;  // see torch_work_test.cc
  ReferenceRun expected;   // of 8 samples, whatever the layout
  for (const TinyLayout& layout : {TinyLayout{"zb-h1", 2, 1, 2, 1, 8},
                                   {"1f1b", 4, 1, 1, 2, 8},
                                   {"interleaved", 2, 4, 1, 2, 8},
                                   {"gpipe", 1, 1, 4, 1, 8},
                                   {"zb-v", 2, 2, 1, 2, 8},
                                   {"dualpipe", 2, 2, 1, 2, 8}}) {
    CAPTURE(layout.schedule);
    const TinyPlan plan = tiny_plan(model, layout);
    REQUIRE(plan.why_not == "");
    if (expected.losses.empty()) {
      expected = reference_training(whole_job(plan.file, options), tiny_data(), 20);
    }
    check_equal(plan.file, options, 20, expected, 1e-4);
  }
}

TEST_CASE("bf16 in a pipeline with ZeRO-1 stays near the single-precision losses") {
  const TinyPlan precise =
      tiny_plan(tiny_model(ModelFamily::kGpt, Precision::kFloat32), {"1f1b", 2, 1, 2, 1, 8});
  const ReferenceRun expected =
      reference_training(whole_job(precise.file, quick_options()), tiny_data(), 20);
  const TinyPlan plan = tiny_plan(tiny_model(ModelFamily::kGpt, Precision::kBFloat16),
                                  {"1f1b", 2, 1, 2, 1, 8, false, true});
  const TrainedPlan trained = train(plan.file, quick_options(), 20, {});
  CHECK(distance(trained.losses, expected.losses) <= 0.02);
}

}  // namespace
}  // namespace penstock
