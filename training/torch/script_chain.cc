#include "training/torch/script_chain.h"

#include <map>
#include <utility>

#include <torch/csrc/jit/ir/ir.h>

namespace penstock {
namespace {

using Steps = std::vector<ChainStep>;

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// Reads a forward node by node; steps() is empty when it is no chain.
class ChainReader {
 public:
  ChainReader(const torch::jit::Module& module, const std::string& path) {
    const auto graph = module.get_method("forward").graph();
    if (graph->inputs().size() != 2) return;
    modules_.emplace(graph->inputs()[0], ChainStep{path, module});
    live_ = graph->inputs()[1];
    for (const torch::jit::Node* node : graph->nodes()) {
      if (!read(*node)) return;
    }
    is_chain_ = graph->outputs().size() == 1 && graph->outputs()[0] == live_;
  }
  Steps steps() && { return is_chain_ ? std::move(steps_) : Steps{}; }

 private:
  bool read(const torch::jit::Node& node) {
    if (node.kind() == c10::prim::Constant) return true;
    if (node.kind() == c10::prim::GetAttr) return read_attribute(node);
    return node.kind() == c10::prim::CallMethod && read_call(node);
  }

  bool read_attribute(const torch::jit::Node& node) {
    const auto owner = modules_.find(node.input(0));
    if (owner == modules_.end()) return false;
    const std::string name = node.s(c10::attr::name);
    const c10::IValue value = owner->second.module.attr(name);
    if (!value.isModule()) return false;
    modules_.emplace(node.output(), ChainStep{joined(owner->second.name, name), value.toModule()});
    return true;
  }

  bool read_call(const torch::jit::Node& node) {
    const auto called = modules_.find(node.input(0));
    if (called == modules_.end() || node.s(c10::attr::name) != "forward") return false;
    if (node.inputs().size() != 2 || node.input(1) != live_) return false;
    steps_.push_back(called->second);
    live_ = node.output();
    return true;
  }

  std::map<const torch::jit::Value*, ChainStep> modules_;
  const torch::jit::Value* live_ = nullptr;
  Steps steps_;
  bool is_chain_ = false;
};

}  // namespace

std::vector<ChainStep> chain_of(const torch::jit::Module& module) {
  Steps outer = ChainReader(module, "").steps();
  if (outer.empty()) return {{"", module}};
  Steps steps;
  for (ChainStep& step : outer) {
    Steps inner = ChainReader(step.module, step.name).steps();
    if (inner.empty()) inner.push_back(std::move(step));
    for (ChainStep& part : inner) steps.push_back(std::move(part));
  }
  return steps;
}

}  // namespace penstock
