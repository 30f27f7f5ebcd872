// Small modules of TorchScript, and archives of them for as long as a test takes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <torch/script.h>

#include "core/values/error.h"
#include "training/torch/describe_model.h"
#include "training/torch/read_archive_graph.h"

namespace penstock::testing {

using torch::jit::Module;

inline Module module_of(const std::string& name) { return Module("__torch__." + name); }
inline at::Tensor random(at::IntArrayRef shape) {
  return (at::randn(shape, at::kFloat) * 0.1).set_requires_grad(true);
}

inline Module block() {
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
inline Module chain() {
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
inline Module gpt(const std::string& residual = "h = h + self.second.forward(h)") {
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
inline Module around(const std::string& body) {
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

inline std::vector<std::string> all_cuts(const Archive& archive) {
  const ArchiveGraph graph = read_archive_graph(archive.description(), 12);
  std::vector<std::string> names;
  for (const int cut : possible_cuts(graph)) {
    names.push_back(graph.nodes[static_cast<std::size_t>(cut)].name);
  }
  return names;
}
inline ModelDescription at_cuts(const Archive& archive, const std::vector<std::string>& cutpoints) {
  ModelDescription model = archive.description();
  model.cutpoints = cutpoints;
  return model;
}
inline ModelDescription at_children(const Archive& archive) {
  return at_cuts(archive, children_cuts(read_archive_graph(archive.description(), 12)));
}

inline std::string refusal(const ModelDescription& model) {
  try {
    describe_model(model);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace penstock::testing
