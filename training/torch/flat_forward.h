// The forward of a TorchScript module as one graph without calls: what it reads of the module comes
// in as inputs. Private to training/torch.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

namespace penstock {

// A tensor or a setting of the module that forward reads.
struct ScriptAttribute {
  std::string name;  // "blocks.0.up"
  c10::IValue value;
};

struct FlatForward {
  // Inputs: those of the model, then the attributes. One output: of a tuple its first element, of a
  // dict "loss" or else "logits".
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<std::string> inputs;  // names of the arguments that have no default
  std::vector<ScriptAttribute> attributes;
  // Nodes that change buffers in place, which nothing else reads: these attributes.
  std::map<const torch::jit::Node*, std::set<int>> changes;
  // By Value::unique(): the submodules that return the value, outer ones first; and the one that
  // computes it.
  std::map<std::size_t, std::vector<std::string>> returned_by;
  std::map<std::size_t, std::string> computed_in;
  // Why parts of the graph cannot be run on their own; empty when they can.
  std::string undivided;
};

// What forward does in place is replaced by what it means where no other tensor shows it. Checks
// and prints may be gone from the graph. The module itself is left as it is.
FlatForward flatten_forward(const torch::jit::Module& module);

// What LibTorch returned, as FlatForward::graph chooses it. Error{kBadInput}, starting with
// `where`, where that is no tensor, and where numbers beside it would be left out of the loss.
at::Tensor result_of(const c10::IValue& returned, const std::string& where);

// Names of forward's arguments that have no default.
std::vector<std::string> input_names(const torch::jit::Module& module);

// The submodule of this path, the module itself for an empty one.
torch::jit::Module submodule(const torch::jit::Module& module, const std::string& path);

}  // namespace penstock
