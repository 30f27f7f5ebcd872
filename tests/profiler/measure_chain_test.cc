#include "profiler/measure_chain.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "profiler/measure_memory.h"
#include "tests/profiler/fake_work.h"

namespace penstock {
namespace {

using tests::FakeDevice;
using tests::FakeWork;
using tests::four_stages;

ChainToMeasure chain_of_four(bool recompute) {
  ChainToMeasure chain;
  chain.sections = {0, 1, 2, 5};
  chain.types = {"embedding", "block", "block", "head"};
  chain.micro_batch_size = 3;
  chain.sequence_length = 64;
  chain.recompute = recompute;
  return chain;
}

// Steps do not vary, so every rule is content with as few as it allows.
constexpr SamplingRule kThreeSteps{.warm_up = 2, .least = 3, .most = 9, .error = 0.01};

TEST_CASE("a chain is set up as a rank that holds every section as a stage") {
  const RankSetup setup = setup_of(chain_of_four(true));
  REQUIRE(setup.stages.size() == 4);
  CHECK(setup.stages[0].takes_input);
  CHECK_FALSE(setup.stages[0].ends_in_loss);
  CHECK(setup.stages[2].first_section == 2);
  CHECK(setup.stages[2].end_section == 3);
  CHECK(setup.stages[3].first_section == 5);
  CHECK(setup.stages[3].ends_in_loss);
  REQUIRE(setup.micro_batches.size() == 2);
  CHECK(setup.micro_batches[1].first_sample == 3);
  CHECK(setup.micro_batches[1].samples == 3);
  CHECK(setup.global_batch == 6);
  CHECK(setup.recompute);
}

// Three of six blocks; the head shares its weight with the embedding, and is stage 4 here.
TEST_CASE("of sections that cost the same the first few are run") {
  ModelDescription model;
  model.layers = 6;
  model.hidden = 8;
  model.heads = 2;
  model.feed_forward = 16;
  model.vocabulary = 256;
  model.positions = 32;
  model.tied_embedding = true;
  const ModelOutline outline = built_in_outline(model);
  const ChainToMeasure chain = choose_sections(model, outline, 3);
  CHECK(chain.sections == std::vector<int>{0, 1, 2, 3, 7});
  CHECK(chain.types == std::vector<std::string>{"embedding", "block", "block", "block", "head"});
  REQUIRE(chain.ties.size() == 1);
  CHECK(chain.ties[0].stages == std::vector<int>{0, 4});
  CHECK(chain.parameters == outline.sections[0].parameter_count() +
                                3 * outline.sections[1].parameter_count() +
                                outline.sections[7].parameter_count());
  CHECK(setup_of(chain).ties == chain.ties);
}

// A block of width 8 with a feed-forward of 16: norms 2 x 16, attention 4 x 64 + 4 x 8, perceptron
// 2 x 128 + 16 + 8, together 600 parameters of 4 bytes, and gradients of as many.
TEST_CASE("of small sections as many are run as the caches do not hold") {
  ModelDescription model;
  model.layers = 6;
  model.hidden = 8;
  model.heads = 2;
  model.feed_forward = 16;
  model.vocabulary = 256;
  model.positions = 32;
  model.precision = Precision::kFloat32;
  const ModelOutline outline = built_in_outline(model);
  REQUIRE(outline.sections[1].parameter_count() == 600);
  const std::int64_t ends =
      outline.sections[0].parameter_count() + outline.sections[7].parameter_count();
  const auto sections = [&](std::int64_t parameters, int of_a_type) {
    return choose_beyond({8 * parameters}, model, outline, of_a_type).sections.size();
  };
  CHECK(sections(ends + 2 * 600, 2) == 2 + 2);
  CHECK(sections(ends + 2 * 600 + 1, 2) == 2 + 3);
  CHECK(sections(ends + 6 * 600 + 1, 2) == 2 + 6);  // all there are
  CHECK(sections(1, 4) == 2 + 4);
  // A weight, a gradient and two moments of 4 bytes each.
  CHECK(state_bytes(choose_sections(model, outline, 2)) == Bytes{16 * (ends + 2 * 600)});
}

TEST_CASE("a step goes forward through the chain and backward, fused first, then split") {
  FakeDevice device;
  FakeWork work(device, four_stages(), true);
  ChainToMeasure chain = chain_of_four(true);
  const std::vector<SectionMemory> memory = measure_memory(chain, work, device);
  CHECK(work.calls == std::vector<std::string>{"0F0", "0>0", "1F0", "1>0", "2F0", "2>0", "3F0",  //
                                               "3R0", "3B0", "3<0", "2R0", "2B0", "2<0", "1R0",
                                               "1B0", "1<0", "0R0", "0B0",                       //
                                               "0F1", "0>1", "1F1", "1>1", "2F1", "2>1", "3F1",  //
                                               "3R1", "3I1", "3<1", "2R1", "2I1", "2<1", "1R1",
                                               "1I1", "1<1", "0R1", "0I1",  //
                                               "3W1", "2W1", "1W1", "0W1"});
}

// The two blocks take 100 and 104 ns forward, equally often: the median (the lower middle one) is
// 100. Three steps of two forwards and two blocks make twelve samples.
TEST_CASE("sections of one type are sampled together, and warm-up steps are left out") {
  FakeDevice device;
  FakeWork work(device, four_stages(), false);
  work.slow_steps = 3;  // the two of the warm-up and the one that counts bytes
  ProfilingProgress progress;
  const ChainSamples samples =
      measure_chain(chain_of_four(false), work, device, kThreeSteps, progress);
  CHECK(samples.settled);
  REQUIRE(samples.sections.size() == 3);
  const SectionSamples& embedding = samples.sections[0];
  const SectionSamples& block = samples.sections[1];
  CHECK(embedding.type == "embedding");
  CHECK(embedding.forward.median == Duration{10});
  CHECK(embedding.forward.count == 6);  // two forwards a step
  CHECK(block.type == "block");
  CHECK(block.micro_batch_size == 3);
  CHECK(block.sequence_length == 64);
  CHECK(block.recompute == "none");
  CHECK(block.forward.median == Duration{100});
  CHECK(block.forward.count == 12);
  CHECK(block.input_gradient.median == Duration{90});
  CHECK(block.weight_gradient.median == Duration{80});
  CHECK(block.fused_backward.median == Duration{165});
  CHECK(block.recompute_time.count == 0);
  CHECK(samples.sections[2].type == "head");
  CHECK(samples.optimizer.median == Duration{700});  // 300 + 100 + 100 + 200
  CHECK(samples.norm.median == Duration{5});
}

TEST_CASE("a chain that is stopped keeps the step it has, and says that it did not settle") {
  class Stopped : public ProfilingProgress {
   public:
    bool stop() override { return true; }
  } progress;
  FakeDevice device;
  FakeWork work(device, four_stages(), true);
  const ChainSamples samples =
      measure_chain(chain_of_four(true), work, device, kThreeSteps, progress);
  CHECK_FALSE(samples.settled);
  CHECK(samples.sections[0].forward.count == 2);
  CHECK(samples.sections[1].recompute_time.median == Duration{95});
  CHECK(samples.sections[1].recompute == "full");
}

TEST_CASE("a rank that keeps a core busy runs steps until it is told to stop") {
  FakeDevice device;
  FakeWork work(device, four_stages(), false);
  int asked = 0;
  keep_running(chain_of_four(false), work, [&] { return ++asked > 3; });
  CHECK(work.steps == 3);
}

TEST_CASE("without a split only the fused backward is run") {
  FakeDevice device;
  FakeWork work(device, four_stages(), false);
  ChainToMeasure chain = chain_of_four(false);
  chain.splits = false;
  ProfilingProgress progress;
  const ChainSamples samples = measure_chain(chain, work, device, kThreeSteps, progress);
  CHECK(samples.sections[1].fused_backward.count == 6);
  CHECK(samples.sections[1].input_gradient.count == 0);
  // What W needs is not known then, so all of the stash is taken to be held until W.
  CHECK(samples.sections[1].memory.weight_stash == samples.sections[1].memory.stash);
}

// A block: it saves 400 besides its input of 100, so its stash is 500. F makes the output, 100, and
// 30 that it gives back: 130 on top. A backward makes the input's gradient, 100, and 50: 150 on
// top. I leaves 60 to W. The embedding has no input to keep: 8. The head has no output; its
// backward takes 500 + 100.
TEST_CASE("a stash holds the input and what is saved, the working peak what comes on top") {
  FakeDevice device;
  device.take(12345);  // weights, gradients, moments
  FakeWork work(device, four_stages(), false);
  const std::vector<SectionMemory> memory = measure_memory(chain_of_four(false), work, device);
  REQUIRE(memory.size() == 4);
  CHECK(memory[0].stash == Bytes{8});
  CHECK(memory[0].weight_stash == Bytes{108});
  CHECK(memory[0].boundary == Bytes{100});
  for (const int block : {1, 2}) {
    const SectionMemory& of = memory[static_cast<std::size_t>(block)];
    CHECK(of ==
          SectionMemory{
              .stash = {500}, .weight_stash = {60}, .working_peak = {150}, .boundary = {100}});
  }
  CHECK(
      memory[3] ==
      SectionMemory{.stash = {400}, .weight_stash = {40}, .working_peak = {600}, .boundary = {0}});
  CHECK(device.held_memory() == Bytes{12345});  // nothing was lost on the way
}

// A block keeps its input only; R brings 400 back, and the backward takes 150 on top of that.
TEST_CASE("with recompute a stash is the input, and what R brings back counts as working") {
  FakeDevice device;
  FakeWork work(device, four_stages(), true);
  const std::vector<SectionMemory> memory = measure_memory(chain_of_four(true), work, device);
  CHECK(memory[1] ==
        SectionMemory{
            .stash = {100}, .weight_stash = {60}, .working_peak = {550}, .boundary = {100}});
}

}  // namespace
}  // namespace penstock
