// What in the forward of a TorchScript archive depends on the tokens, operation by operation: in it
// are the places where a section may end. training/torch reads it from an archive; a value without
// LibTorch's types, so that what searches it needs none.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock {

struct ArchiveNode {
  // Unique. Where the tensor is what a submodule returns, the submodule ("blocks.0"); else the
  // submodule that computes it and the operation ("blocks.0.add"); the second of a name is
  // "NAME#2".
  std::string name;
  // Other submodules that return the same tensor.
  std::vector<std::string> aliases;
  bool is_child = false;     // returned by one of the ordered children (see children_cuts)
  bool ends_block = false;   // returned by a submodule that holds a matrix of weights
  bool uses_matrix = false;  // reads a matrix of weights
  bool is_unit = false;      // returned by a submodule of the model itself, or by one of a list
  // What others read of it can be handed from one section to the next: tensors whose sizes grow
  // evenly with the samples.
  bool is_boundary = false;
};

struct ArchiveGraph {
  // The model's inputs first, the result last, every node behind those that it depends on. Only
  // what leads to the result is listed.
  std::vector<ArchiveNode> nodes;
  std::vector<std::pair<int, int>> edges;  // from, to; from < to
  // Why there are no nodes: what keeps this archive from being divided. Else empty.
  std::string undivided;
};

// More tensors than this are no boundary that anybody wants.
inline constexpr int kMostHandedOn = 16;

// The nodes where a section may end: what later nodes read of them and of those before them is of
// at most so many nodes, and can be handed on. Told by the order of the nodes alone, so that it can
// judge what a search proposes.
std::vector<int> possible_cuts(const ArchiveGraph& graph, int most_handed_on = 1);

// Names of the possible cuts that the ordered children return. A child that does nothing but call
// its own children one after the other, or holds them as a list, stands for these.
std::vector<std::string> children_cuts(const ArchiveGraph& graph);

// The places of `names`, or of aliases, in the order of the nodes. Error{kBadInput}, starting with
// `where`, for a name that is no possible cut, which lists those that are, and for one given twice.
std::vector<int> named_cuts(const ArchiveGraph& graph, const std::vector<std::string>& names,
                            const std::string& where);

}  // namespace penstock
