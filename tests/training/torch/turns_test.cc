// Plans that take turns, on LibTorch: the state of a run outlives its plans.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/training/torch/tiny_plans.h"
#include "training/torch/cpu_device.h"
#include "training/torch/library.h"
#include "training/torch/torch_state.h"

namespace penstock {
namespace {

using namespace penstock::testing;

// Twelve steps, in which the plans take turns, against one loop over the whole batch.
void check_turns(const ModelDescription& model, const TrainingOptions& options,
                 const std::vector<TinyLayout>& layouts, double tolerance = 1e-10) {
  set_library_threads(1);
  std::vector<PlanFile> plans;
  for (const TinyLayout& layout : layouts) {
    CAPTURE(layout.schedule);
    TinyPlan plan = tiny_plan(model, layout);
    REQUIRE(plan.why_not == "");
    plans.push_back(std::move(plan.file));
  }
  const ReferenceRun expected =
      reference_training(whole_job(plans.front(), options), tiny_data(), 12);
  const TrainedPlan trained = train_by_turns(plans, options, 12, expected);
  CHECK(distance(trained.losses, expected.losses) <= tolerance);
  CHECK(distance(trained.gradient_norms, expected.gradient_norms) <= tolerance);
  CHECK(trained.weights <= tolerance);
}

TrainingOptions clipped() {
  TrainingOptions options;
  options.learning_rate = 1e-2;
  options.weight_decay = 0.1;
  options.clip_norm = 0.5;
  options.seed = 3;
  return options;
}

TEST_CASE(
    "two plans that alternate every step train as one loop does: other cuts, P, D, schedule") {
  check_turns(tiny_model(), clipped(),
              {{"1f1b", 4, 1, 1, 2, 8}, {"zb-h1", 2, 1, 2, 1, 8, false, false, {0, 3, 8}}});
}

TEST_CASE(
    "optimizer state that is divided, undivided and divided otherwise goes with its weights") {
  ModelDescription tied = tiny_model();
  tied.tied_embedding = true;
  check_turns(tied, clipped(),
              {{"1f1b", 2, 1, 2, 1, 8, false, true, {0, 6, 8}},  // ZeRO-1 over two
               {"gpipe", 1, 1, 4, 2, 8, true, true},             // over four, ends on one stage
               {"interleaved", 2, 2, 2, 1, 8},                   // undivided
               {"dualpipe", 4, 2, 1, 1, 8},                      // two copies of the weights
               {"zb-v", 4, 2, 1, 1, 8}});
}

TEST_CASE("momentum, and master weights of bf16, go with their weights") {
  ModelDescription sgd = tiny_model(ModelFamily::kBert);
  sgd.optimizer = OptimizerKind::kSgd;
  TrainingOptions options = clipped();
  options.momentum = 0.9;
  check_turns(sgd, options, {{"1f1b", 2, 1, 1, 2, 8}, {"gpipe", 1, 1, 2, 2, 8}});

  // Of bf16 there is no plain loop that is equal to the last bit; a run that lost the master
  // weights would be off by far more than one that did not change its plan.
  const ModelDescription half = tiny_model(ModelFamily::kGpt, Precision::kBFloat16);
  const PlanFile one = tiny_plan(half, {"1f1b", 2, 1, 1, 2, 8}).file;
  const PlanFile other = tiny_plan(half, {"gpipe", 2, 1, 1, 2, 8, false, false, {0, 2, 8}}).file;
  const TrainedPlan steady = train(one, clipped(), 12, {});
  const TrainedPlan turning = train_by_turns({one, other}, clipped(), 12, {});
  CHECK(turning.losses == steady.losses);
}

TEST_CASE("sections that stay keep their memory; the others are there only while they are needed") {
  const auto device = make_cpu_device();
  const ModelDescription model = tiny_model();
  TorchState state(model, clipped(), *device);
  const auto setup = [&](int first, int end) {
    RankSetup held = one_rank(model, 1, {2});
    held.stages[0].first_section = first;
    held.stages[0].end_section = end;
    return held;
  };
  const auto memory = [&](int section) {
    for (const SectionState& kept : state.section_states()) {
      if (kept.section == section) return kept.parameters.front().buffer.data;
    }
    return static_cast<std::byte*>(nullptr);
  };
  state.lay_out(setup(0, 5));
  const auto* third = memory(3);
  REQUIRE(third != nullptr);
  state.lay_out(setup(2, 8));
  state.let_go();
  CHECK(memory(3) == third);
  CHECK(memory(0) == nullptr);
  CHECK(memory(7) != nullptr);
  CHECK(state.section_states().size() == 6);
}

}  // namespace
}  // namespace penstock
