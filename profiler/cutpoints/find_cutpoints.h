// Where a model can be cut: the nodes of its graph through which everything passes. Between two of
// them lies a section; what flows over a cut is the output of one node.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock {

// Edges lead from what makes a tensor to what uses it. Node 0 is the input, the last one the
// output.
struct ModelGraph {
  std::vector<std::string> names;
  std::vector<std::pair<int, int>> edges;
};

// The nodes, without input and output, that lie on every path from the input to the output, in the
// order in which the paths pass them. Nodes that do not lead from the input to the output (weights,
// results that nobody uses) do not count. Error{kBadInput} for edges to nodes that are not there, a
// cycle, and a graph whose output does not depend on its input.
std::vector<int> find_cutpoints(const ModelGraph& graph);

}  // namespace penstock
