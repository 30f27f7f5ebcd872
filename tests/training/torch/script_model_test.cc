#include "training/torch/script_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <torch/script.h>

#include "core/values/error.h"
#include "tests/training/torch/script_archives.h"
#include "tests/training/torch/tiny_models.h"
#include "training/torch/cpu_device.h"
#include "training/torch/describe_model.h"
#include "training/torch/read_archive_graph.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using namespace testing;

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

// A buffer that forward only writes, as a batch norm its running means, makes no difference.
TEST_CASE("a model that reads a buffer which it changes says that losses depend on replicas") {
  const auto remarks_of = [](const std::string& body, const std::string& name) {
    Module model = around("");
    Module with_buffer = module_of("Following");
    with_buffer.register_parameter("tokens", model.attr("tokens").toTensor(), false);
    with_buffer.register_buffer("mean", at::zeros({16}));
    with_buffer.define("def forward(self, x):\n  h = torch.embedding(self.tokens, x)\n" + body +
                       "  return torch.linear(h, self.tokens)\n");
    const Archive archive(with_buffer, name);
    return make_script_model(archive.description())->remarks(12);
  };
  const std::string follow = "  self.mean.mul_(0.9).add_(h.detach().mean([0, 1]), alpha=0.1)\n";
  CHECK(remarks_of(follow, "writes").empty());
  CHECK(remarks_of(follow + "  h = h - self.mean\n", "reads") ==
        std::vector<std::string>{"forward reads buffers that it changes (mean): with DP > 1 every "
                                 "replica follows its own samples, so losses depend on DP"});
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

// The decoder's inputs as Hugging Face makes them of the labels, and its mask: what is written into
// is new, and read later by sections that do not write.
TEST_CASE("what is written into parts of a tensor is as good as a new tensor") {
  const Archive archive(around("  n = x.size(1)\n"
                               "  mask = torch.zeros([n, n])\n"
                               "  mask[:, 1:] = 0.25\n"
                               "  mask[0] = torch.ones([n])\n"
                               "  mask[1, 2:5].fill_(3)\n"
                               "  shifted = h * 0.5\n"
                               "  shifted[:, 1:] = h[:, :-1]\n"
                               "  shifted[:, 0].mul_(2.0)\n"
                               "  h = self.first.forward(torch.matmul(mask, shifted))\n"
                               "  h = self.second.forward(torch.matmul(mask, h))\n"),
                        "written");
  make_script_model(at_cuts(archive, {"embedding", "first", "second"}))->check_division(12);
  const Archive seen(around("  part = h[:, 1:]\n  part.mul_(2.0)\n  h = h + part.sum()\n"), "part");
  make_script_model(at_cuts(seen, {"embedding", "add"}))->check_division(12);
  // The other view of the same rows shows it.
  const Archive twice(around("  other = h[:, 1:]\n  h[:, 1:] = 0.0\n  h = h + other.sum()\n"),
                      "twice");
  CHECK(refusal(at_cuts(twice, {"embedding"})).find("changes a value in place") !=
        std::string::npos);
}

TEST_CASE("a list to which the turns of a loop append is handed from turn to turn") {
  const Archive archive(around("  said = []\n  state = h[:, 0]\n"
                               "  for i in range(h.size(1)):\n"
                               "    state = torch.tanh(state + h[:, i])\n"
                               "    if i % 2 == 0:\n"
                               "      said.append(state)\n"
                               "    else:\n"
                               "      said.append(state * said[-1] * len(said))\n"
                               "  h = self.first.forward(torch.stack(said, 1))\n"
                               "  h = self.second.forward(h)\n"),
                        "loop");
  CHECK(all_cuts(archive) == std::vector<std::string>{"embedding", "stack", "first", "second"});
  make_script_model(at_cuts(archive, {"embedding", "stack", "second"}))->check_division(12);
  const Archive other(around("  said = [h]\n  for i in range(3):\n    said[0] = said[0] * 2.0\n"
                             "  h = said[0]\n"),
                      "set_item");
  CHECK(all_cuts(other).empty());
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
