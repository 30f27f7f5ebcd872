// What of a flat forward depends on the model's inputs and on weights, and pieces of it that run on
// their own. What depends on one of the two only (weights, masks, positions) every piece works out
// for itself: the inputs reach every piece that reads them. What is drawn, or changes a buffer, is
// done once. Private to training/torch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "training/archive_graph.h"
#include "training/torch/flat_forward.h"
#include "training/torch/script_piece.h"

namespace penstock {

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
  [[nodiscard]] const std::vector<std::string>& inputs() const { return flat_.inputs; }
  // What lies behind node `from`, `to` included. Both are possible cuts, or the ends.
  [[nodiscard]] ScriptPiece piece(int from, int to) const;
  // Runs forward on 2, 3 and 5 samples as `inputs_of` makes them, and lets only those nodes be
  // boundaries whose tensors grow evenly with the samples. Throws what LibTorch throws.
  void try_out(const std::function<std::vector<at::Tensor>(std::int64_t samples)>& inputs_of);

 private:
  using Value = torch::jit::Value;
  // Of what every piece works out for itself.
  struct Reads {
    std::set<int> attributes;
    bool inputs = false, weights = false, trained = false;
    void add(const Reads& other);
  };
  // What nodes up to `node` made and later ones read; behind the last one, the result.
  [[nodiscard]] std::vector<Value*> handed_on(int node) const;
  [[nodiscard]] std::vector<std::vector<std::int64_t>> sizes_of(
      const std::vector<const Value*>& values, const std::vector<at::Tensor>& inputs) const;
  void find_last_readers();
  void read_nodes();
  void read_node(torch::jit::Node& node);
  void keep_what_leads_to_the_result();
  void name_nodes(const torch::jit::Module& module);
  void describe(ArchiveNode& node, int index, const torch::jit::Module& module,
                const std::set<std::string>& children);

  FlatForward flat_;
  struct Weight {
    int dimensions = 0;
    bool trained = true;
  };
  std::map<const void*, Weight> weights_;  // by their memory
  std::vector<torch::jit::Node*> nodes_ = {nullptr};
  std::vector<std::vector<int>> from_ = {{}};  // of each node: nodes that it reads
  std::vector<Reads> reads_ = {{}};
  std::vector<bool> is_trained_ = {false};   // what a node makes
  std::map<const Value*, int> last_reader_;  // of what nodes make and others read
  std::map<int, std::string> returned_by_;
  std::map<const torch::jit::Value*, int> made_in_;  // what depends on the tokens: its node
  std::map<const torch::jit::Value*, Reads> free_;   // what does not
  ArchiveGraph graph_;
};

}  // namespace penstock
