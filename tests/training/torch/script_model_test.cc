#include "training/torch/script_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <torch/script.h>

#include "core/values/error.h"
#include "tests/training/torch/tiny_models.h"
#include "training/torch/cpu_device.h"
#include "training/torch/describe_model.h"
#include "training/torch/read_archive_graph.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using torch::jit::Module;

Module module_of(const std::string& name) { return Module("__torch__." + name); }
at::Tensor random(at::IntArrayRef shape) {
  return (at::randn(shape, at::kFloat) * 0.1).set_requires_grad(true);
}

Module block() {
  Module module = module_of("Block");
  module.register_parameter("up", random({24, 16}), false);
  module.register_parameter("bias", random({24}), false);
  module.register_parameter("down", random({16, 24}), false);
  module.define(R"(
    def forward(self, x):
      return x + torch.linear(torch.gelu(torch.linear(x, self.up, self.bias)), self.down)
  )");
  return module;
}

// Embedding -> two blocks, in a chain of their own -> head, tied to the embedding.
Module chain() {
  at::manual_seed(3);
  Module embedding = module_of("Embedding"), head = module_of("Head"), blocks = module_of("Blocks");
  const at::Tensor tied = random({256, 16});
  embedding.register_parameter("weight", tied, false);
  embedding.define("def forward(self, x):\n  return torch.embedding(self.weight, x)\n");
  head.register_parameter("weight", embedding.attr("weight").toTensor(), false);
  head.define("def forward(self, x):\n  return torch.linear(x, self.weight)\n");
  const Module first = block();
  const auto copied = [](const Module& module) {
    const at::NoGradGuard leaves;
    return module.deepcopy();
  };
  Module second = copied(first);
  for (at::Tensor parameter : second.parameters()) {
    parameter.set_data(random(parameter.sizes()).detach());
    parameter.set_requires_grad(true);
  }
  blocks.register_module("first", first);
  blocks.register_module("second", second);
  blocks.define("def forward(self, x):\n  return self.second.forward(self.first.forward(x))\n");
  Module model = module_of("Model");
  model.register_module("embedding", embedding);
  model.register_module("blocks", blocks);
  model.register_module("head", head);
  model.define(
      "def forward(self, x):\n  return "
      "self.head.forward(self.blocks.forward(self.embedding.forward(x)))\n");
  return model;
}

// Token and position embedding, two residual blocks, a norm, a head that is tied to the tokens'
// embedding: what is written between the blocks belongs to no submodule. `residual` adds to h.
Module gpt(const std::string& residual = "h = h + self.second.forward(h)") {
  at::manual_seed(5);
  Module model = module_of("Gpt");
  model.register_parameter("tokens", random({256, 16}), false);
  model.register_parameter("positions", random({32, 16}), false);
  model.register_parameter("gain", at::ones({16}).set_requires_grad(true), false);
  Module branch = module_of("Branch");
  branch.register_parameter("weight", random({16, 16}), false);
  branch.define("def forward(self, x):\n  return torch.tanh(torch.linear(x, self.weight))\n");
  model.register_module("first", block());
  model.register_module("second", branch);
  model.define(
      "def forward(self, x):\n"
      "  at = torch.arange(x.size(1), device=x.device)\n"
      "  h = torch.embedding(self.tokens, x) + torch.embedding(self.positions, at)\n"
      "  h = self.first.forward(h)\n  " +
      residual +
      "\n  h = torch.layer_norm(h, [16], self.gain)\n"
      "  return torch.linear(h, self.tokens)\n");
  return model;
}

// Embedding, then `body` of h, then the head.
Module around(const std::string& body) {
  at::manual_seed(7);
  Module model = module_of("Around");
  model.register_parameter("tokens", random({256, 16}), false);
  model.register_module("first", block());
  model.register_module("second", block());
  model.define("def forward(self, x):\n  h = torch.embedding(self.tokens, x)\n" + body +
               "  return torch.linear(h, self.tokens)\n");
  return model;
}

struct Archive {
  explicit Archive(const Module& module, const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("penstock_" + name + ".pt")) {
    module.save(path);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { std::filesystem::remove(path); }
  [[nodiscard]] ModelDescription description() const {
    ModelDescription model;
    model.family = ModelFamily::kTorchScript;
    model.archive = path;
    model.precision = Precision::kFloat64;
    model.optimizer = OptimizerKind::kSgd;
    model.tied_embedding = true;
    return model;
  }
  std::string path;
};

std::vector<std::string> all_cuts(const Archive& archive) {
  const ArchiveGraph graph = read_archive_graph(archive.description(), 12);
  std::vector<std::string> names;
  for (const int cut : possible_cuts(graph)) {
    names.push_back(graph.nodes[static_cast<std::size_t>(cut)].name);
  }
  return names;
}
ModelDescription at_cuts(const Archive& archive, const std::vector<std::string>& cutpoints) {
  ModelDescription model = archive.description();
  model.cutpoints = cutpoints;
  return model;
}
ModelDescription at_children(const Archive& archive) {
  return at_cuts(archive, children_cuts(read_archive_graph(archive.description(), 12)));
}

std::string refusal(const ModelDescription& model) {
  try {
    describe_model(model);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("an archive's sections are the steps of its chain, with their types, sizes and ties") {
  const Archive archive(chain(), "chain");
  const ModelOutline outline = describe_model(at_children(archive));
  REQUIRE(outline.sections.size() == 4);
  CHECK(outline.sections[0].name == "embedding");
  CHECK(outline.sections[1].name == "blocks.first");
  CHECK(outline.sections[2].name == "blocks.second");
  CHECK(outline.sections[3].name == "head");
  CHECK(outline.sections[1].type == "Block");
  CHECK(outline.sections[2].type == "Block");
  CHECK(outline.sections[1].parameter_count() == 24 * 16 + 24 + 16 * 24);
  CHECK(outline.sections[1].parameters[0].name == "up");
  REQUIRE(outline.ties.size() == 1);
  CHECK(outline.ties[0] == TieOutline{"embedding.weight", {0, 3}, {0, 0}});
}

TEST_CASE("cutpoints choose among the steps; one that is none is refused with those that are") {
  const Archive archive(chain(), "cutpoints");
  ModelDescription model = at_cuts(archive, {"blocks.first"});
  const ModelOutline outline = describe_model(model);
  REQUIRE(outline.sections.size() == 2);
  CHECK(outline.sections[0].name == "blocks.first");
  CHECK(outline.sections[0].parameters[0].name == "embedding.weight");
  CHECK(outline.sections[1].name == "head");
  model.cutpoints = {"blocks.third"};
  CHECK(refusal(model).find("no cutpoint \"blocks.third\" here; along the model there are "
                            "embedding, blocks.first, blocks.second") != std::string::npos);
}

// Around the blocks lie operations of the model itself. The positions' embedding does not depend on
// the tokens but for their number, so the sum is the only reader of it.
TEST_CASE("a residual model can be cut between its operations, at every node that all pass") {
  const Archive archive(gpt(), "residual");
  CHECK(all_cuts(archive) ==
        std::vector<std::string>{"embedding", "add", "first", "add#2", "layer_norm"});
  // Behind the second one, what it is added to is still to be read.
  CHECK(children_cuts(read_archive_graph(archive.description(), 12)) ==
        std::vector<std::string>{"first", "second"});
  const ModelDescription model = at_cuts(archive, {"embedding", "add", "first", "add#2"});
  const ModelOutline outline = describe_model(model);
  REQUIRE(outline.sections.size() == 5);
  CHECK(outline.sections[1].name == "add");
  CHECK(outline.sections[1].type == "Gpt.add");
  CHECK(outline.sections[1].parameters[0].name == "positions");
  CHECK(outline.sections[2].type == "Block");
  CHECK(outline.sections[2].parameter_count() == 24 * 16 + 24 + 16 * 24);
  CHECK(outline.sections[3].parameters[0].name == "second.weight");
  CHECK(outline.sections[3].type == "Gpt.add#2");
  CHECK(outline.sections[4].name == "linear");
  REQUIRE(outline.ties.size() == 1);
  CHECK(outline.ties[0] == TieOutline{"tokens", {0, 4}, {0, 0}});
  make_script_model(model)->check_division(12);
  const Boundary boundary = make_script_model(model)->boundary(3, {.samples = 7, .tokens = 9});
  REQUIRE(boundary.size() == 1);
  CHECK(boundary[0].shape == std::vector<std::int64_t>{7, 9, 16});
  CHECK(boundary[0].has_gradient);
}

TEST_CASE("a tensor that is added to in place is as good as a new one where nobody else sees it") {
  const Archive archive(gpt("s = self.second.forward(h) * 2\n  s += h\n  h = s"), "in_place");
  CHECK(all_cuts(archive) ==
        std::vector<std::string>{"embedding", "add", "first", "add#2", "layer_norm"});
  make_script_model(at_cuts(archive, {"first", "add#2"}))->check_division(12);
  // The weights of `second` would be trained with what h is after the sum: LibTorch refuses it.
  const Archive wrong(gpt("h += self.second.forward(h)"), "wrong");
  std::string words;
  try {
    make_script_model(at_cuts(wrong, {"first"}))->check_division(12);
  } catch (const Error& error) {
    words = error.what();
  }
  CHECK(words.find("cannot be trained, even as a whole, on 12 tokens (one of the variables") !=
        std::string::npos);
}

TEST_CASE("a branch that joins late is handed on beside what it goes around") {
  const Archive archive(around("  late = h * 2\n  h = self.first.forward(h)\n"
                               "  h = self.second.forward(h) + late\n"),
                        "late");
  CHECK(all_cuts(archive) == std::vector<std::string>{"embedding", "add"});
  const auto model = make_script_model(at_cuts(archive, {"embedding", "first", "second"}));
  CHECK(model->boundary(0, {.samples = 3, .tokens = 12}).size() == 1);
  CHECK(model->boundary(1, {.samples = 3, .tokens = 12}).size() == 2);
  CHECK(model->boundary(2, {.samples = 3, .tokens = 12}).size() == 2);
  model->check_division(12);
}

// A mask that is made once, of sizes; a weight that both blocks use besides their own.
TEST_CASE("what does not depend on the tokens is worked out by every section that reads it") {
  const Archive archive(around("  n = x.size(1)\n"
                               "  mask = torch.tril(torch.ones([n, n])) / n\n"
                               "  mix = torch.tanh(self.tokens[0:16])\n"
                               "  h = self.first.forward(torch.matmul(mask, h))\n"
                               "  h = torch.linear(h, mix)\n"
                               "  h = self.second.forward(torch.matmul(mask, h))\n"),
                        "mask");
  const ModelDescription model = at_cuts(archive, {"first", "linear", "second"});
  const ModelOutline outline = describe_model(model);
  REQUIRE(outline.ties.size() == 1);
  CHECK(outline.ties[0].sections == std::vector<int>{0, 1, 3});
  make_script_model(model)->check_division(12);
}

TEST_CASE("an archive without cutpoints says why") {
  const Archive skip(around("  h = self.first.forward(h) * x.unsqueeze(-1)\n"
                            "  h = self.second.forward(h) + x.unsqueeze(-1)\n"),
                     "skip");
  // The tokens are there for every section.
  CHECK(all_cuts(skip) == std::vector<std::string>{"embedding", "first", "mul", "second", "add"});
  const Archive seen(around("  flat = h.view([-1])\n  h.mul_(2.0)\n  h = h + flat.sum()\n"),
                     "seen");
  CHECK(all_cuts(seen).empty());
  CHECK(refusal(at_cuts(seen, {"first"}))
            .find("it cannot be divided, since its forward changes a value in place that is seen "
                  "elsewhere (aten::mul_)") != std::string::npos);
  const ModelOutline outline = describe_model(seen.description());
  REQUIRE(outline.sections.size() == 1);
  CHECK(outline.sections[0].name == "model");
  CHECK(outline.sections[0].parameters.size() == 7);
}

TEST_CASE("files that are no archives, or not the one that was profiled, are refused by name") {
  ModelDescription model;
  model.family = ModelFamily::kTorchScript;
  model.archive = std::filesystem::temp_directory_path() / "penstock_no_archive.pt";
  std::ofstream(model.archive) << "not an archive";
  CHECK(refusal(model).find("no TorchScript archive that this LibTorch reads") !=
        std::string::npos);
  model.archive_hash = "fnv1a64:0000000000000000";
  CHECK(refusal(model).find("is not the archive that was profiled") != std::string::npos);
  std::filesystem::remove(model.archive);
}

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

TEST_CASE("an archive without a parameter to train is refused") {
  Module module = chain();
  for (at::Tensor parameter : module.parameters()) parameter.set_requires_grad(false);
  const Archive archive(module, "all_frozen");
  const std::string words = refusal(archive.description());
  CAPTURE(words);
  CHECK(words.find("there is nothing to train") != std::string::npos);
}

TEST_CASE("inputs are known by their names, and others are refused") {
  Module module = module_of("Two");
  module.register_parameter("tokens", random({256, 16}), false);
  module.define("def forward(self, x, y):\n  return torch.embedding(self.tokens, x + y)\n");
  const Archive archive(module, "two_inputs");
  CHECK(refusal(archive.description()).find("forward takes x and y") != std::string::npos);
}

TEST_CASE("the parameters of a section are leaves, wherever they are bound") {
  const Archive archive(chain(), "leaves");
  const auto script = make_script_model(at_children(archive));
  script->check_division(10);
  const auto first = script->section(0, at::Device("cpu"), at::kFloat);
  const auto again = script->section(0, at::Device("cpu"), at::kFloat);
  REQUIRE(first->weights().size() == 1);
  const at::Tensor storage = script->initial(0, 0, 1, at::kFloat);
  first->bind(0, storage);
  CHECK(first->weights()[0].is_leaf());
  CHECK(first->weights()[0].requires_grad());
  CHECK(first->weights()[0].data_ptr() == storage.data_ptr());
  CHECK_FALSE(first->weights()[0].is_same(again->weights()[0]));
}

TEST_CASE("dropout draws the same again when a forward is recomputed") {
  Module model = chain();
  Module dropout = module_of("Dropout");
  dropout.define("def forward(self, x):\n  return torch.dropout(x, 0.5, True)\n");
  Module outer = module_of("Outer");
  outer.register_module("body", model);
  outer.register_module("drop", dropout);
  outer.define("def forward(self, x):\n  return self.drop.forward(self.body.forward(x))\n");
  const Archive archive(outer, "dropout");
  const auto script = make_script_model(at_children(archive));
  const int last = static_cast<int>(script->outline().sections.size()) - 1;
  const auto section = script->section(last, at::Device("cpu"), at::kFloat);
  const at::Tensor x = at::ones({4, 100});
  const at::Tensor once = section->forward({x}, {x}, 5)[0];
  const at::Tensor again = section->forward({x}, {x}, 5)[0];
  CHECK(at::equal(once, again));
  CHECK_FALSE(at::equal(once, section->forward({x}, {x}, 6)[0]));
}

}  // namespace
}  // namespace penstock
