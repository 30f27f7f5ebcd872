// Spilled shards against the whole model on the device: 20 steps of both have the same losses and
// norms, bit for bit. Both add gradients of a section in the order of micro-batches, squares in the
// order of segments, and draw random numbers by step, sample and section; so no sum differs.
#include "training/torch/spilled_work.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/spilled_budget.h"
#include "spilling/spilled_program.h"
#include "tests/training/torch/script_archives.h"
#include "tests/training/torch/tiny_plans.h"
#include "training/loopback.h"
#include "training/throttled_link.h"
#include "training/torch/cpu_device.h"
#include "training/torch/describe_model.h"
#include "training/torch/library.h"
#include "training/torch/limited_cpu_device.h"
#include "training/torch/spilled_state.h"

namespace penstock {
namespace {

using namespace penstock::testing;

struct Spilled {
  std::vector<int> cuts;
  SpilledBatch batch;  // of micro-batches of `batch.each.samples`
};

SpilledBatch batch_of(int passes, int micro_batches, bool on_host, bool clips = false) {
  SpilledBatch batch;
  batch.passes = passes;
  batch.micro_batches = micro_batches;
  batch.each.samples = 2;
  batch.each.sequence_length = kTinyLength;
  batch.reloads_updated = on_host;
  batch.clips = clips;
  return batch;
}

// All sections on one rank, with a norm where `clips`.
PlanFile whole(const ModelDescription& model, const SpilledBatch& batch, int sections) {
  const int samples = batch.passes * batch.micro_batches * batch.each.samples;
  const ModelDescription of_plan = tiny_model();
  PlanFile file = tiny_plan(of_plan, {"1f1b", 1, 1, 1, batch.each.samples, samples}).file;
  file.description = model;
  file.plan.cuts = {0, sections};
  return file;
}

PlanFile spilled(const ModelDescription& model, const Spilled& asked) {
  PlanFile file = whole(model, asked.batch, asked.cuts.back());
  file.plan.schedule = "spilled";
  file.plan.chunks = static_cast<int>(asked.cuts.size()) - 1;
  file.plan.cuts = asked.cuts;
  file.ties.clear();
  file.executor.optimizer =
      asked.batch.clips ? OptimizerGate::kGlobalBarrier : OptimizerGate::kPostValidation;
  file.program = spilled_program(file.plan.chunks, asked.batch);
  return file;
}

struct SpilledRun {
  std::vector<double> losses, norms;
  Bytes peak;  // of the device
  SpilledMemory memory;
};

SpilledRun train_spilled(const PlanFile& file, const TrainingOptions& options, int steps,
                         const ThrottledLinkOptions& link_options = {}) {
  const RankProgram program = rank_program(file, model_of(file), options, 0);
  const ByteData data = tiny_data();
  LoopbackHub hub(1, {});
  const auto transport = hub.transport(0);
  const auto link = make_throttled_link(link_options);
  const auto device = make_cpu_device();
  SpilledState state(program.setup.model, options, *device, *link, /*bucket_bytes=*/4096);
  state.lay_out(program.setup);
  SpilledWork work(program.setup, state, data, slot_schedule(file));
  StepExecutor executor(program, work, *transport, {});
  SpilledRun run;
  run.memory = work.memory();
  for (int step = 0; step < steps; ++step) {
    const NormShare all = executor.execute(step).all;
    run.losses.push_back(all.loss);
    run.norms.push_back(std::sqrt(all.squared_norm));
  }
  run.peak = device->peak_memory();
  return run;
}

TrainingOptions options_of(double clip_norm = 0.0) {
  TrainingOptions options;
  options.learning_rate = 1e-2;
  options.weight_decay = 0.1;
  options.momentum = 0.9;
  options.seed = 3;
  options.clip_norm = clip_norm;
  return options;
}

void check_same(const ModelDescription& model, const Spilled& asked,
                const TrainingOptions& options = options_of()) {
  set_library_threads(1);
  CAPTURE(asked.cuts.size());
  CAPTURE(asked.batch.passes);
  CAPTURE(asked.batch.reloads_updated);
  const TrainedPlan expected = train(whole(model, asked.batch, asked.cuts.back()), options, 20, {});
  const SpilledRun run = train_spilled(spilled(model, asked), options, 20);
  CHECK(run.losses == expected.losses);
  if (asked.batch.clips) CHECK(run.norms == expected.gradient_norms);
  CHECK(run.losses.front() > run.losses.back());
}

ModelDescription model_with(OptimizerKind optimizer, Precision precision = Precision::kFloat32) {
  ModelDescription model = tiny_model(ModelFamily::kGpt, precision);
  model.optimizer = optimizer;
  return model;
}

TEST_CASE("shards on the host train as the whole model does, to the last bit: AdamW and SGD") {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    const ModelDescription model = model_with(optimizer);
    for (const bool on_host : {true, false}) {
      check_same(model, {{0, 8}, batch_of(1, 2, on_host)});
      check_same(model, {{0, 3, 8}, batch_of(1, 2, on_host)});
      check_same(model, {{0, 1, 2, 3, 5, 6, 7, 8}, batch_of(1, 2, on_host)});
    }
  }
  check_same(model_with(OptimizerKind::kAdamW, Precision::kBFloat16),
             {{0, 2, 4, 8}, batch_of(1, 2, true)});
}

TEST_CASE("passes of one micro-batch add up to the same sums, on the host and on the device") {
  const ModelDescription model = model_with(OptimizerKind::kAdamW);
  for (const bool on_host : {true, false}) {
    check_same(model, {{0, 2, 4, 6, 8}, batch_of(3, 1, on_host)});
  }
}

TEST_CASE("clipped by the norm over all shards, which comes before every update") {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    check_same(model_with(optimizer), {{0, 2, 4, 6, 8}, batch_of(1, 2, true, true)},
               options_of(0.5));
  }
  check_same(model_with(OptimizerKind::kSgd), {{0, 3, 8}, batch_of(2, 1, true, true)},
             options_of(0.5));
}

TEST_CASE("weights that two shards share are summed and updated on the host") {
  ModelDescription tied = model_with(OptimizerKind::kAdamW);
  tied.tied_embedding = true;
  // Two parts of one micro-batch have one sum, in whatever order.
  check_same(tied, {{0, 2, 5, 8}, batch_of(1, 1, true)});
  check_same(tied, {{0, 5, 8}, batch_of(1, 1, true, true)}, options_of(0.5));
  CHECK_THROWS_WITH_AS(
      train_spilled(spilled(tied, {{0, 5, 8}, batch_of(1, 1, true)}), options_of(), 1),
      doctest::Contains("shards 0 and 1 share the weights"), Error);
}

Module dropped(const std::string& share) {
  at::manual_seed(11);
  Module model = module_of("Dropped");
  model.register_parameter("tokens", random({256, 16}), false);
  model.register_parameter("out", random({256, 16}), false);
  model.register_module("first", block());
  model.register_module("second", block());
  model.define(
      "def forward(self, x):\n  h = torch.embedding(self.tokens, x)\n"
      "  h = torch.dropout(self.first.forward(h), " +
      share +
      ", True)\n"
      "  h = torch.dropout(self.second.forward(h), " +
      share +
      ", True)\n"
      "  return torch.linear(h, self.out)\n");
  return model;
}

// Two micro-batches at once, or one after the other as a pass each.
TEST_CASE("dropout draws again what the forward before drew: SGD and AdamW, clipped, accumulated") {
  for (const char* share : {"0.0", "0.3"}) {
    CAPTURE(share);
    const Archive archive(dropped(share), std::string("spilled_dropout") + share[2]);
    ModelDescription description = at_cuts(archive, all_cuts(archive));
    description.precision = Precision::kFloat32;
    description.tied_embedding = false;
    const int sections = static_cast<int>(describe_model(description).sections.size());
    REQUIRE(sections >= 4);
    for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
      description.optimizer = optimizer;
      for (const bool clips : {false, true}) {
        TrainingOptions options = options_of(clips ? 0.5 : 0.0);
        options.learning_rate = 0.1;
        const std::vector<int> cuts{0, 1, sections / 2, sections};
        check_same(description, {cuts, batch_of(1, 2, true, clips)}, options);
        check_same(description, {cuts, batch_of(2, 1, true, clips)}, options);
        if (!clips) check_same(description, {cuts, batch_of(2, 1, false)}, options);
      }
    }
  }
}

// Sections of 16 x 16 and 16 x 24 matrices: eight shards, of which two are on the device.
TEST_CASE("the device holds two slots, and the host the rest") {
  set_library_threads(1);
  const PlanFile file = spilled(model_with(OptimizerKind::kAdamW),
                                {{0, 1, 2, 3, 4, 5, 6, 7, 8}, batch_of(1, 2, true)});
  const SpilledRun run = train_spilled(file, options_of(), 2);
  // Of embedding (256 + 16 positions) x 16, blocks and head: weights and gradients of the largest.
  CHECK(run.memory.slot >= 2 * 4 * 256 * 16);
  CHECK(run.memory.host > 8 * run.memory.slot / 4);
  CHECK(run.peak.count >= static_cast<std::int64_t>(2 * run.memory.slot));
}

TEST_CASE("a device that is full says by how much") {
  const auto device = make_limited_cpu_device(Bytes{1 << 20});
  const at::Tensor fits = at::empty({1 << 19}, at::kByte);
  CHECK_THROWS_WITH_AS(at::empty({1 << 20}, at::kByte),
                       doctest::Contains("the device is full: of 1.0 MiB that it may hold"), Error);
}

}  // namespace
}  // namespace penstock
