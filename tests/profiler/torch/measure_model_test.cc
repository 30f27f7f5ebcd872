#include "profiler/torch/measure_model.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/profiler/fake_tracer.h"
#include "training/steady_time.h"
#include "training/torch/cpu_device.h"

namespace penstock {
namespace {

// Two blocks of width 16, two heads, one sequence of 8 tokens per sample.
ModelToMeasure small_question() {
  ModelToMeasure question;
  question.model.layers = 2;
  question.model.hidden = 16;
  question.model.heads = 2;
  question.model.feed_forward = 32;
  question.model.vocabulary = 256;
  question.model.positions = 8;
  question.sequence_length = 8;
  question.micro_batch_sizes = {1, 2};
  question.rule = {.warm_up = 1, .least = 2, .most = 3, .error = 0.5};
  question.budget = std::chrono::seconds(5);
  return question;
}

ModelSamples measured(const ModelToMeasure& question) {
  const auto device = make_cpu_device();
  ProfilingProgress progress;
  return measure_model(question, *device, progress, {});
}

TEST_CASE("a model is measured at every size, with what it runs of it") {
  const ModelSamples samples = measured(small_question());
  CHECK(samples.outline.sections.size() == 4);
  CHECK(samples.not_measured.empty());
  CHECK(samples.not_split.empty());
  REQUIRE(samples.chains.size() == 2);
  REQUIRE(samples.chains[0].sections.size() == 3);
  const SectionSamples& block = samples.chains[1].sections[1];
  CHECK(block.type == "block");
  CHECK(block.micro_batch_size == 2);
  CHECK(block.forward.median > Duration{});
  CHECK(block.input_gradient.median > Duration{});
  CHECK(block.weight_gradient.median > Duration{});
  CHECK(block.fused_backward.median > Duration{});
  CHECK(block.recompute_time.count == 0);
  CHECK(samples.chains[0].optimizer.median > Duration{});
  CHECK(samples.chain_parameters == samples.outline.sections[0].parameter_count() +
                                        2 * samples.outline.sections[1].parameter_count() +
                                        samples.outline.sections[3].parameter_count());
}

TEST_CASE("several lengths are measured at every size, each with data of its own") {
  ModelToMeasure question = small_question();
  question.sequence_lengths = {4, 8};
  const ModelSamples samples = measured(question);
  REQUIRE(samples.chains.size() == 4);
  const std::vector<int> lengths{4, 4, 8, 8}, sizes{1, 2, 1, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    const SectionSamples& block = samples.chains[i].sections[1];
    CHECK(block.sequence_length == lengths[i]);
    CHECK(block.micro_batch_size == sizes[i]);
    // Samples x tokens x 16 floats of 4 bytes.
    CHECK(block.memory.boundary == Bytes{64 * lengths[i] * sizes[i]});
  }
}

// Boundary: samples x 8 tokens x 16 floats of 4 bytes. A block keeps its input and more of that
// size, at least the normed inputs of its linear layers; after I, W still needs those.
TEST_CASE("memory grows with the micro-batch, and is that of the tensors") {
  const ModelSamples samples = measured(small_question());
  const SectionMemory& one = samples.chains[0].sections[1].memory;
  const SectionMemory& two = samples.chains[1].sections[1].memory;
  CHECK(one.boundary == Bytes{512});
  CHECK(two.boundary == Bytes{1024});
  CHECK(one.stash >= Bytes{4 * 512});
  CHECK(two.stash > one.stash);
  CHECK(one.weight_stash > Bytes{});
  CHECK(one.working_peak >= Bytes{512});
  // The head hands nothing on.
  CHECK(samples.chains[0].sections[2].memory.boundary == Bytes{});
}

// Single precision and AdamW: 4 + 4 + 8 bytes.
TEST_CASE("weights, gradients and moments are counted") {
  const double bytes = measured(small_question()).state_bytes_per_parameter;
  CHECK(bytes > 15.2);
  CHECK(bytes < 17.5);
}

TEST_CASE("with recompute a block keeps its input only") {
  ModelToMeasure question = small_question();
  question.micro_batch_sizes = {1};
  question.recompute = {true};
  const ModelSamples samples = measured(question);
  const SectionSamples& block = samples.chains[0].sections[1];
  CHECK(block.recompute == "full");
  CHECK(block.recompute_time.median > Duration{});
  CHECK(block.memory.stash == Bytes{512});
  CHECK(block.memory.working_peak > Bytes{4 * 512});
}

ModelSamples traced(tests::FakeTracer& tracer, bool keeps_recordings) {
  ModelToMeasure question = small_question();
  question.keeps_recordings = keeps_recordings;
  const auto device = make_cpu_device();
  ProfilingProgress progress;
  return measure_model(question, *device, progress, {}, &tracer);
}

// An embedding, two blocks, a head: F, B, I, W and the optimizer of each, the beginning of a step
// and the norm.
TEST_CASE("every size is traced after it was measured, all actions of all sections") {
  tests::FakeTracer tracer([] { return steady_now().time_since_epoch(); });
  const ModelSamples samples = traced(tracer, true);
  CHECK(samples.chains.size() == 2);
  REQUIRE(samples.traces.size() == 2);
  CHECK(samples.traces[1].micro_batch_size == 2);
  CHECK(samples.traces[1].why_void.empty());
  CHECK(samples.traces[1].sections.size() == 4 * 5 + 2);
  CHECK(samples.traces[1].types.size() == 3 * 5 + 2);
  CHECK(samples.traces[1].untraced_step.count == samples.traces[1].steps);
  REQUIRE(samples.recordings.size() == 2);
  CHECK(samples.recordings[0].scopes.size() ==
        static_cast<std::size_t>(samples.traces[0].steps) * (2 * 4 + 3 * 4 + 4 + 2));
}

TEST_CASE("a size with activity of nobody is in no profile") {
  tests::FakeTracer tracer([] { return steady_now().time_since_epoch(); });
  tracer.stray = "somebody_else";
  const ModelSamples samples = traced(tracer, false);
  CHECK(samples.chains.empty());
  REQUIRE(samples.traces.size() == 2);
  CHECK(samples.traces[0].why_void.find("somebody_else (launched outside all scopes)") !=
        std::string::npos);
  CHECK(samples.recordings.empty());
}

TEST_CASE("what is not begun before somebody stops it is named") {
  class Stopped : public ProfilingProgress {
   public:
    bool stop() override { return true; }
  } progress;
  const auto device = make_cpu_device();
  const ModelSamples samples = measure_model(small_question(), *device, progress, {});
  CHECK(samples.chains.empty());
  CHECK(samples.not_measured ==
        std::vector<std::string>{"b = 1, recompute none", "b = 2, recompute none"});
}

}  // namespace
}  // namespace penstock
