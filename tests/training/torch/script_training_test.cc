// Archives that train in sections: their losses against plain gradient descent on the whole module.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <torch/script.h>

#include "tests/training/torch/script_archives.h"
#include "tests/training/torch/tiny_models.h"
#include "training/torch/cpu_device.h"
#include "training/torch/describe_model.h"
#include "training/torch/script_model.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using namespace testing;

// Plain gradient descent on the whole module.
std::vector<double> descend(const ModelDescription& description, const RankSetup& setup,
                            const ByteData& data, int steps) {
  Module module = torch::jit::load(description.archive);
  module.to(at::kDouble);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    std::vector<std::int64_t> inputs, targets;
    for (int i = 0; i < setup.global_batch; ++i) {
      const TokenSample sample = data.sample(description, {setup.options.seed, step, i});
      inputs.insert(inputs.end(), sample.inputs.begin(), sample.inputs.end());
      targets.insert(targets.end(), sample.targets.begin(), sample.targets.end());
    }
    for (at::Tensor parameter : module.parameters()) parameter.mutable_grad() = at::Tensor();
    const at::Tensor tokens = at::tensor(inputs, at::kLong).view({setup.global_batch, -1});
    const at::Tensor log_p = module.forward({tokens}).toTensor().log_softmax(-1).view({-1, 256});
    const at::Tensor loss = -log_p.gather(1, at::tensor(targets, at::kLong).unsqueeze(1)).mean();
    loss.backward();
    const at::NoGradGuard no_grad;
    for (at::Tensor parameter : module.parameters()) {
      if (!parameter.grad().defined()) continue;
      parameter.sub_(parameter.grad(), setup.options.learning_rate);
      parameter.mutable_grad() = at::Tensor();  // of a tied tensor, which comes twice
    }
    losses.push_back(loss.item<double>());
  }
  return losses;
}

RankSetup two_stages(const ModelDescription& model, int sections, const std::string& tie) {
  RankSetup setup;
  setup.model = model;
  setup.options.learning_rate = 0.5;
  setup.sequence_length = testing::kTinyLength;
  setup.global_batch = 4;
  setup.micro_batches = {{0, 2}, {2, 2}};
  setup.stages = {{0, 0, 2, true, false}, {1, 2, sections, false, true}};
  setup.ties = {{tie, {0, 1}}};
  return setup;
}

void copy(const Buffer& from, const Buffer& to) {
  REQUIRE(from.bytes() == to.bytes());
  REQUIRE(from.bytes() > 0);
  std::copy(from.data, from.data + from.bytes(), to.data);
}

// Five steps of both stages, the second one split. Of the two micro-batches one goes over as a
// message.
std::vector<double> train(const RankSetup& setup, const ByteData& data) {
  const auto device = make_cpu_device();
  TorchWork work(setup, *device, data);
  std::vector<double> losses;
  for (int step = 0; step < 5; ++step) {
    work.begin_step(step);
    for (const int m : {0, 1}) {
      work.compute(ActionKind::kForward, 0, m);
      if (m == 0) {
        work.hand_on_activation(0, m);
      } else {  // as a message
        copy(work.activation_to_send(0, m), work.activation_to_receive(1, m));
        work.sent_activation(0, m);
      }
      work.compute(ActionKind::kForward, 1, m);
      if (setup.recompute) work.compute(ActionKind::kRecompute, 1, m);
      work.compute(ActionKind::kInputGradient, 1, m);
      if (m == 0) {
        work.hand_on_gradient(1, m);
      } else {
        copy(work.gradient_to_send(1, m), work.gradient_to_receive(0, m));
        work.sent_gradient(1, m);
      }
      work.compute(ActionKind::kFusedBackward, 0, m);
      work.compute(ActionKind::kWeightGradient, 1, m);
    }
    if (!setup.ties.empty()) {
      work.add_tied_gradient(0, 1, 0);
      work.copy_tied_gradient(0, 0, 1);
    }
    const NormShare share = work.norm_share();
    work.set_global_norm(share);
    work.optimize(0);
    work.optimize(1);
    losses.push_back(share.loss);
  }
  return losses;
}

void check_training(RankSetup setup) {
  const ByteData data = testing::tiny_data();
  const std::vector<double> expected = descend(setup.model, setup, data, 5);
  CHECK(expected.back() < expected.front());
  for (const bool recompute : {false, true}) {
    setup.recompute = recompute;
    CHECK(testing::distance(train(setup, data), expected) <= 1e-10);
  }
}

TEST_CASE("an archive trains in sections, split or fused, as the whole module does") {
  const Archive archive(chain(), "trained");
  check_training(two_stages(at_children(archive), 4, "embedding.weight"));
}

TEST_CASE("so do the pieces of a residual archive") {
  const Archive archive(gpt(), "trained_pieces");
  check_training(two_stages(at_cuts(archive, {"embedding", "add", "first", "add#2"}), 5, "tokens"));
}

TEST_CASE("a boundary of several tensors trains as the whole does") {
  const Archive archive(around("  late = torch.tanh(h)\n  h = self.first.forward(h)\n"
                               "  h = self.second.forward(h) * late\n"),
                        "several");
  check_training(two_stages(at_cuts(archive, {"embedding", "first", "second"}), 4, "tokens"));
}

// The tanh is cut off behind the first section, and is read again by the last one only.
TEST_CASE("a tensor goes around the sections that only hand it on") {
  const Archive archive(around("  late = torch.tanh(h)\n  h = self.first.forward(late)\n"
                               "  h = self.second.forward(h)\n  h = torch.tanh(h)\n"
                               "  h = torch.cos(h) * late\n"),
                        "around");
  const ModelDescription model = at_cuts(archive, {"tanh", "first", "second"});
  CHECK(make_script_model(model)->boundary(2, {.samples = 3, .tokens = 12}).size() == 2);
  make_script_model(model)->check_division(12);
  check_training(two_stages(model, 4, "tokens"));
}

std::size_t bytes_of(const std::vector<Buffer>& buffers) {
  std::size_t bytes = 0;
  for (const Buffer& buffer : buffers) bytes += buffer.bytes();
  return bytes;
}

TEST_CASE("frozen parameters are neither reduced nor stepped nor kept for, but stored") {
  Module module = chain();
  Module first = module.attr("blocks").toModule().attr("first").toModule();
  for (at::Tensor parameter : first.parameters()) parameter.set_requires_grad(false);
  const Archive archive(module, "frozen");
  const RankSetup setup = two_stages(at_children(archive), 4, "embedding.weight");
  const ModelOutline outline = describe_model(setup.model);
  CHECK(outline.sections[1].parameter_count() == 0);
  CHECK(outline.sections[1].frozen_count() == 24 * 16 + 24 + 16 * 24);
  check_training(setup);
  const auto device = make_cpu_device();
  const ByteData data = testing::tiny_data();
  TorchWork work(setup, *device, data);
  CHECK(bytes_of(work.gradients(0)) == 0);  // the embedding is tied, and reduced apart
  const std::vector<SectionState> states = work.state().section_states();
  CHECK(states[1].parameters.size() == 3);
  CHECK(states[1].optimizer.empty());
}

// The weights of the first two sections are frozen, so that nothing in front of the second stage
// has a gradient; its message is there all the same.
TEST_CASE("a frozen beginning needs no backward") {
  Module module = gpt();
  for (const char* name : {"positions"}) module.attr(name).toTensor().set_requires_grad(false);
  Module first = module.attr("first").toModule();
  for (at::Tensor parameter : first.parameters()) parameter.set_requires_grad(false);
  module.attr("tokens").toTensor().set_requires_grad(false);
  const Archive archive(module, "frozen_beginning");
  RankSetup setup = two_stages(at_cuts(archive, {"add", "first", "add#2"}), 4, "");
  setup.ties.clear();
  CHECK(describe_model(setup.model).ties.empty());
  CHECK_FALSE(
      make_script_model(setup.model)->boundary(1, {.samples = 2, .tokens = 9})[0].has_gradient);
  check_training(setup);
}

}  // namespace
}  // namespace penstock
