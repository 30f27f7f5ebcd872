// Cuts a piece out of a flat forward: a graph whose inputs are what it is handed, and whose outputs
// are what it hands on.
//
// Backwards from the results it collects every node that they need, and stops at values that are
// given; inputs of the whole graph (attributes, the model's own inputs) become further inputs of
// the piece. The collected nodes are then copied in their old order. So a piece holds no node that
// its results or effects do not need, and every value is either given, read, or made by a node
// before the one that uses it.
#include "training/torch/script_piece.h"

#include <map>
#include <utility>

namespace penstock {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

void add_inputs(const Node& node, std::set<const Value*>& inputs) {
  inputs.insert(node.inputs().begin(), node.inputs().end());
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) add_inputs(*inner, inputs);
    inputs.insert(block->outputs().begin(), block->outputs().end());
  }
}

// Copies what a piece needs into a graph of its own.
class Cutting {
 public:
  Cutting(const FlatForward& flat, const std::vector<Value*>& given)
      : flat_(flat), whole_(*flat.graph) {
    piece_.graph = std::make_shared<Graph>();
    piece_.handed = given.size();
    for (const Value* value : given) {
      copies_[value] = piece_.graph->addInput()->setType(c10::TensorType::get());
    }
  }

  // `effects`: nodes that change buffers.
  ScriptPiece run(const std::vector<Value*>& results, const std::vector<Node*>& effects) && {
    for (const Value* result : results) need(result);
    for (const Node* node : effects) {
      needed_.insert(node);
      for (const Value* input : inputs_of(*node)) need(input);
    }
    for (Node* node : const_cast<Graph&>(whole_).nodes()) {
      if (needed_.contains(node)) copy(*node);
    }
    for (Value* result : results) piece_.graph->registerOutput(copies_.at(result));
    return std::move(piece_);
  }

 private:
  void need(const Value* result) {
    std::vector<const Value*> open{result};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (copies_.contains(value)) continue;
      const Node* const node = value->node();
      if (node == whole_.param_node() || node->owningBlock() != whole_.return_node()->owningBlock())
        continue;
      if (!needed_.insert(node).second) continue;
      for (const Value* input : inputs_of(*node)) open.push_back(input);
    }
  }

  void copy(Node& node) {
    Node* const copied =
        piece_.graph->createClone(&node, [this](Value* value) { return copy_of(value); });
    piece_.graph->insertNode(copied);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      copies_[node.outputs()[i]] = copied->outputs()[i];
    }
  }

  // What is no result of a node is an input of the whole.
  Value* copy_of(Value* value) {
    Value*& copy = copies_[value];
    if (copy != nullptr) return copy;
    const int offset = static_cast<int>(value->offset());
    const int inputs = static_cast<int>(flat_.inputs.size());
    piece_.reads.push_back(offset < inputs ? -1 - offset : offset - inputs);
    return copy = piece_.graph->addInput()->setType(value->type());
  }

  const FlatForward& flat_;
  const Graph& whole_;
  ScriptPiece piece_;
  std::set<const Node*> needed_;
  std::map<const Value*, Value*> copies_;
};

}  // namespace

std::set<const Value*> inputs_of(const Node& node) {
  std::set<const Value*> inputs;
  add_inputs(node, inputs);
  return inputs;
}

ScriptPiece cut_piece(const FlatForward& flat, const std::vector<Value*>& given,
                      const std::vector<Value*>& results, const std::vector<Node*>& effects) {
  return Cutting(flat, given).run(results, effects);
}

}  // namespace penstock
