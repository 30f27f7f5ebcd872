// Documents of different lengths, every step under a plan of its own, against one plain loop in
// which each document is computed by itself and nothing is padded.
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/plans_ahead.h"
#include "runtime_bridge/rank_threads.h"
#include "runtime_bridge/run_rank.h"
#include "search/dynamic/plan_batch.h"
#include "search/dynamic/profile_costs.h"
#include "search/evaluate.h"
#include "tests/training/torch/reference_training.h"
#include "tests/training/torch/tiny_models.h"
#include "tests/training/torch/tiny_plans.h"
#include "training/document_batches.h"
#include "training/loopback.h"
#include "training/mixed_bits.h"
#include "training/torch/cpu_device.h"
#include "training/torch/library.h"
#include "training/torch/torch_state.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using namespace penstock::testing;

constexpr int kSteps = 4;
constexpr int kDocuments = 40;

// So many random ids.
std::vector<std::int32_t> ids(std::size_t count, std::uint64_t seed) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>(mixed_bits({seed, i}) % 256));
  }
  return ids;
}

// Of 2 to 17 tokens, so that 1 to 16 are fed, short ones more often; pairs of 1 to 16 each.
std::shared_ptr<const DocumentSet> documents(bool pairs) {
  DocumentSet set(pairs);
  for (std::uint64_t d = 0; d < kDocuments; ++d) {
    const std::uint64_t drawn = mixed_bits({d, 7});
    const std::size_t length = 1 + (drawn % 16) * (drawn / 16 % 16) / 15;
    if (pairs) {
      set.add(ids(length, d), ids(1 + drawn / 256 % 16, d + 1000), 16);
    } else {
      set.add(ids(length + 1, d), {}, 17);
    }
  }
  return std::make_shared<const DocumentSet>(std::move(set));
}

// What a run of documents asks the planner, for a layout and of made-up times.
class TinyPlanner {
 public:
  TinyPlanner(const ModelDescription& model, const TinyLayout& layout)
      : profile_(tiny_profile(model, {4, 8, 12, 16}, {1, 8})),
        cluster_(tiny_cluster(layout.pipeline * layout.data)) {
    inputs_.profile = &profile_;
    inputs_.cluster = &cluster_;
    question_.layout = tiny_layout(model, layout);
    const int left_out = model.family == ModelFamily::kT5 ? 0 : 1;
    question_.rounding = {.multiple = 4, .left_out = left_out, .decoder_extra = 0, .separator = 0};
    question_.schedules = {layout.schedule};
    question_.replays = 50;
    costs_ = std::make_unique<ProfileCosts>(inputs_, question_.layout, "none");
    question_.capacity = costs_->capacity();
    question_.recompute = {{"none", costs_.get()}};
  }

  // Under the layout's schedule, whichever is fastest.
  [[nodiscard]] PlannedStep plan(const std::vector<SampleLength>& lengths) const {
    BatchPlan planned = plan_batch(question_, lengths);
    REQUIRE(planned.why_not == "");
    Plan plan = planned.evaluated.plan;
    plan.schedule = question_.schedules.front();
    plan.group = 0;
    EvaluatedPlan evaluated = evaluate_in_full(inputs_, plan);
    // Not every number of micro-batches suits it; then the planner's choice does.
    if (evaluated.why_not) evaluated = std::move(planned.evaluated);
    auto samples = std::make_shared<StepSamples>();
    for (const PlannedReplica& replica : planned.replicas) {
      for (const PlannedMicroBatch& micro_batch : replica.micro_batches) {
        for (const auto& row : micro_batch.rows) samples->order.push_back(row.front());
      }
    }
    samples->real_tokens = planned.real_tokens;
    const PlanFile file = to_plan_file(inputs_, evaluated);
    samples->fingerprint = fingerprint_of(file, samples->order);
    return {std::make_shared<const PlanFile>(file), samples};
  }

 private:
  ModelProfile profile_;
  ClusterSpec cluster_;
  PlanInputs inputs_;
  BatchQuestion question_;
  std::unique_ptr<ProfileCosts> costs_;
};

class Losses : public StepObserver {
 public:
  void step_finished(const MeasuredStep& step) override { losses.push_back(step.loss); }
  void ranks_held(const std::vector<Bytes>& most) override { ranks = most.size(); }
  std::vector<double> losses;
  std::size_t ranks = 0;
};

TrainingOptions options() {
  TrainingOptions options;
  options.learning_rate = 1e-2;
  options.clip_norm = 0.5;
  options.seed = 3;
  return options;
}

// The losses of kSteps steps, and how the weights differ from `expected`'s.
struct Trained {
  std::vector<double> losses;
  double weights = 0.0;
};
Trained train(const ModelDescription& model, const TinyLayout& layout,
              const DocumentBatches& batches, const ReferenceRun& expected) {
  const TinyPlanner planner(model, layout);
  PlansAhead plans([&](std::int64_t step) { return planner.plan(batches.lengths_of_step(step)); },
                   {.first_step = 0, .end_step = kSteps, .threads = 2, .ahead = 2});
  const int ranks = layout.pipeline * layout.data;
  LoopbackOptions loopback;
  loopback.time_out = std::chrono::seconds(60);
  LoopbackHub hub(ranks, loopback);
  Losses losses;
  WeightComparison weights(expected);
  std::mutex mutex;
  on_rank_threads(ranks, [&](int rank) {
    const auto transport = hub.transport(rank);
    const auto device = make_cpu_device();
    TorchState state(model, options(), *device, /*bucket_bytes=*/4096);
    RankParts parts;
    parts.state = &state;
    parts.make_work = [&](const auto& /*plan*/, const RankProgram& program) {
      return std::make_unique<TorchWork>(program.setup, state, batches);
    };
    RunRankOptions run;
    run.end_step = kSteps;
    run.training = options();
    run_rank(plans, parts, *transport, run, {&losses, nullptr, nullptr});
    const std::scoped_lock lock(mutex);
    weights.add(model, state.section_states());
  });
  CHECK(losses.ranks == static_cast<std::size_t>(ranks));
  return {losses.losses, weights.worst()};
}

// All layouts against one loop.
void check_layouts(const ModelDescription& model, std::int64_t tokens,
                   const std::vector<TinyLayout>& layouts) {
  set_library_threads(1);
  const DocumentBatches batches(documents(model.family == ModelFamily::kT5),
                                {.step = 0, .taken = 0, .tokens = tokens, .seed = 3});
  RankSetup whole = one_rank(model, 1, {1});
  whole.options = options();
  const ReferenceRun expected = reference_training(whole, batches, kSteps, [&](int step) {
    return static_cast<int>(batches.of_step(step).size());
  });
  for (const TinyLayout& layout : layouts) {
    CAPTURE(layout.schedule);
    CAPTURE(layout.chunks);
    CAPTURE(layout.data);
    const Trained trained = train(model, layout, batches, expected);
    CHECK(distance(trained.losses, expected.losses) <= 1e-10);
    CHECK(trained.weights <= 1e-10);
  }
}

TEST_CASE("whatever the layout and schedule, documents train as one loop over each of them does") {
  check_layouts(tiny_model(), 70,
                {{"1f1b", 2},
                 {"cyclic", 2},
                 {"zb-h1", 2},
                 {"1f1b", 2, 1, 2},
                 {"cyclic", 2, 1, 2},
                 {"zb-h1", 2, 1, 2},
                 {"interleaved", 2, 2},
                 {"cyclic", 2, 2},
                 {"interleaved-zb", 2, 2},
                 {"1f1b", 1, 1, 2}});
}

TEST_CASE("so do pairs of an encoder-decoder model, wherever it is cut") {
  ModelDescription model = tiny_model(ModelFamily::kT5);
  model.tied_embedding = true;
  check_layouts(model, 100,
                {{"1f1b", 2, 1, 1, 1, 8, false, false, {0, 2, 8}},    // within the encoder
                 {"cyclic", 2, 1, 1, 1, 8, false, false, {0, 5, 8}},  // behind the embedding
                 {"zb-h1", 2, 1, 2},
                 {"1f1b", 4},
                 {"cyclic", 2, 2},
                 {"1f1b", 1, 1, 2}});
}

}  // namespace
}  // namespace penstock
