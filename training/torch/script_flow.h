// What of a flat forward depends on the tokens, and pieces of it that run on their own. What does
// not depend on them (weights, masks, positions made from sizes) every piece works out for itself.
// Private to training/torch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "training/archive_graph.h"
#include "training/torch/flat_forward.h"

namespace penstock {

// Inputs: what the piece before it made, then the attributes. One output.
struct ScriptPiece {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<int> attributes;  // of the flat forward
};

class ScriptFlow {
 public:
  explicit ScriptFlow(const torch::jit::Module& module);

  [[nodiscard]] const ArchiveGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<ScriptAttribute>& attributes() const { return flat_.attributes; }
  // Which submodule computes the node, and by which operation ("add"); and which one returns it, if
  // any does.
  [[nodiscard]] std::string computed_in(int node) const;
  [[nodiscard]] std::string operation(int node) const;
  [[nodiscard]] std::string returned_by(int node) const;
  // What lies behind node `from`, `to` included. Both are possible cuts, or the ends.
  [[nodiscard]] ScriptPiece piece(int from, int to) const;
  // Runs forward once on tokens [samples, tokens], and lets only those nodes be boundaries whose
  // tensors are fit for it. Throws what LibTorch throws.
  void try_out(const at::Tensor& tokens);

 private:
  struct Reads {
    std::set<int> attributes;
    bool sizes = false;  // of the tokens
  };
  void read_nodes();
  void read_node(torch::jit::Node& node);
  bool is_free(const torch::jit::Node& node) const;
  void keep_what_leads_to_the_result();
  void name_nodes(const torch::jit::Module& module);
  void describe(ArchiveNode& node, int index, const torch::jit::Module& module,
                const std::set<std::string>& children);

  FlatForward flat_;
  std::map<std::string, int> weights_;  // by name; dimensions
  std::vector<torch::jit::Node*> nodes_ = {nullptr};
  std::vector<std::vector<int>> from_ = {{}};  // of each node: nodes that it reads
  std::vector<Reads> reads_ = {{}};
  std::vector<bool> depends_on_weights_ = {false};
  std::map<int, std::string> returned_by_;
  std::map<const torch::jit::Value*, int> made_in_;  // what depends on the tokens: its node
  std::map<const torch::jit::Value*, Reads> free_;   // what does not
  ArchiveGraph graph_;
};

}  // namespace penstock
