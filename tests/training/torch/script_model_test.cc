#include "training/torch/script_model.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <torch/script.h>

#include "core/error.h"
#include "tests/training/torch/tiny_models.h"
#include "training/torch/cpu_device.h"
#include "training/torch/describe_model.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using torch::jit::Module;

Module module_of(const std::string& name) { return Module("__torch__." + name); }
at::Tensor random(at::IntArrayRef shape) { return at::randn(shape, at::kFloat) * 0.1; }

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
  Module second = first.deepcopy();
  for (at::Tensor parameter : second.parameters()) parameter.set_data(random(parameter.sizes()));
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
  const ModelOutline outline = describe_model(archive.description());
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
  ModelDescription model = archive.description();
  model.cutpoints = {"blocks.first"};
  const ModelOutline outline = describe_model(model);
  REQUIRE(outline.sections.size() == 2);
  CHECK(outline.sections[0].name == "blocks.first");
  CHECK(outline.sections[0].parameters[0].name == "embedding.weight");
  CHECK(outline.sections[1].name == "head");
  model.cutpoints = {"blocks.third"};
  CHECK(refusal(model).find("no cutpoint \"blocks.third\" here; along the model there are "
                            "embedding, blocks.first, blocks.second, head") != std::string::npos);
}

TEST_CASE("a forward that does more than call one submodule after the other is one section") {
  Module model = module_of("Residual");
  model.register_module("inner", block());
  model.define("def forward(self, x):\n  return x + self.inner.forward(x)\n");
  const Archive archive(model, "residual");
  const ModelOutline outline = describe_model(archive.description());
  REQUIRE(outline.sections.size() == 1);
  CHECK(outline.sections[0].name == "model");
  CHECK(outline.sections[0].parameters.size() == 3);
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
    for (at::Tensor parameter : module.parameters()) {
      parameter.set_requires_grad(true);
      parameter.mutable_grad() = at::Tensor();
    }
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

TEST_CASE("an archive trains in sections, split or fused, as the whole module does") {
  const Archive archive(chain(), "trained");
  RankSetup setup;
  setup.model = archive.description();
  setup.options.learning_rate = 0.5;
  setup.sequence_length = testing::kTinyLength;
  setup.global_batch = 4;
  setup.micro_batches = {{0, 2}, {2, 2}};
  setup.stages = {{0, 0, 2, true, false}, {1, 2, 4, false, true}};
  setup.ties = {{"embedding.weight", {0, 1}}};
  const ByteData data = testing::tiny_data();
  const std::vector<double> expected = descend(setup.model, setup, data, 5);
  CHECK(expected.back() < expected.front());
  for (const bool recompute : {false, true}) {
    setup.recompute = recompute;
    const auto device = make_cpu_device();
    TorchWork work(setup, *device, data);
    std::vector<double> losses;
    for (int step = 0; step < 5; ++step) {
      work.begin_step(step);
      for (const int m : {0, 1}) {
        work.compute(ActionKind::kForward, 0, m);
        work.hand_on_activation(0, m);
        work.compute(ActionKind::kForward, 1, m);
        if (recompute) work.compute(ActionKind::kRecompute, 1, m);
        work.compute(ActionKind::kInputGradient, 1, m);
        work.hand_on_gradient(1, m);
        work.compute(ActionKind::kFusedBackward, 0, m);
        work.compute(ActionKind::kWeightGradient, 1, m);
      }
      work.add_tied_gradient(0, 1, 0);
      work.copy_tied_gradient(0, 0, 1);
      const NormShare share = work.norm_share();
      work.set_global_norm(share);
      work.optimize(0);
      work.optimize(1);
      losses.push_back(share.loss);
    }
    CHECK(testing::distance(losses, expected) <= 1e-10);
    CHECK(work.not_split().empty());
  }
}

TEST_CASE("the parameters of a section are leaves, of its own copy of the archive") {
  const Archive archive(chain(), "leaves");
  const auto script = make_script_model(archive.description());
  script->check_division(10);
  const auto first = script->section(0, at::Device("cpu"), at::kFloat);
  const auto again = script->section(0, at::Device("cpu"), at::kFloat);
  REQUIRE(first->weights().size() == 1);
  CHECK(first->weights()[0].is_leaf());
  CHECK(first->weights()[0].requires_grad());
  CHECK(at::equal(first->weights()[0], script->initial(0, 0, 1, at::kFloat)));
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
  const auto script = make_script_model(archive.description());
  const int last = static_cast<int>(script->outline().sections.size()) - 1;
  const auto section = script->section(last, at::Device("cpu"), at::kFloat);
  const at::Tensor x = at::ones({4, 100});
  const at::Tensor once = section->forward(x, 5), again = section->forward(x, 5);
  CHECK(at::equal(once, again));
  CHECK_FALSE(at::equal(once, section->forward(x, 6)));
}

}  // namespace
}  // namespace penstock
