// A piece of a flat forward that runs on its own, as a graph. Private to training/torch.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include "training/torch/flat_forward.h"

namespace penstock {

// The graph's inputs: what the pieces before it hand on, then `reads`. Its outputs: what it hands
// on, but for what goes around it.
struct ScriptPiece {
  std::shared_ptr<torch::jit::Graph> graph;
  std::size_t handed = 0;        // tensors by the pieces before it
  std::vector<int> reads;        // attribute i of the flat forward; input i of the model as -1 - i
  std::vector<int> around;       // of each tensor that it hands on: which of `handed` it is, or -1
  std::vector<bool> is_trained;  // likewise: whether it depends on a weight that is trained
  std::set<int> changes;         // attributes that it changes in place
};

// All that a node reads, the blocks inside it included.
std::set<const torch::jit::Value*> inputs_of(const torch::jit::Node& node);

// Graph, `handed` and `reads` of the piece that is handed `given` and hands on `results`; `effects`
// are nodes that change buffers.
ScriptPiece cut_piece(const FlatForward& flat, const std::vector<torch::jit::Value*>& given,
                      const std::vector<torch::jit::Value*>& results,
                      const std::vector<torch::jit::Node*>& effects);

}  // namespace penstock
