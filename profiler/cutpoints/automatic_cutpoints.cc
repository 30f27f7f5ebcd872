#include "profiler/cutpoints/automatic_cutpoints.h"

#include <algorithm>
#include <cstddef>

#include "profiler/cutpoints/find_cutpoints.h"

namespace penstock {
namespace {

const ArchiveNode& node_at(const ArchiveGraph& graph, int node) {
  return graph.nodes[static_cast<std::size_t>(node)];
}

std::vector<int> boundaries_of(const ArchiveGraph& graph) {
  ModelGraph model;
  model.names.reserve(graph.nodes.size());
  for (const ArchiveNode& node : graph.nodes) model.names.push_back(node.name);
  model.edges = graph.edges;
  std::vector<int> cutpoints = find_cutpoints(model);
  std::erase_if(cutpoints, [&](int node) { return !node_at(graph, node).is_boundary; });
  return cutpoints;
}

bool reads_matrix(const ArchiveGraph& graph, int from, int to) {
  return std::any_of(graph.nodes.begin() + from + 1, graph.nodes.begin() + to + 1,
                     [](const ArchiveNode& node) { return node.uses_matrix; });
}

}  // namespace

std::vector<std::string> automatic_cutpoints(const ArchiveGraph& graph) {
  std::vector<std::string> chosen;
  if (graph.nodes.size() < 2) return chosen;
  std::vector<int> ends = boundaries_of(graph);
  ends.push_back(static_cast<int>(graph.nodes.size()) - 1);
  // Boundaries since the last part that reads a matrix, that part's own end first.
  std::vector<int> candidates;
  int from = 0;
  for (const int to : ends) {
    if (reads_matrix(graph, from, to)) {
      if (!candidates.empty()) {
        const auto block = std::find_if(candidates.begin(), candidates.end(),
                                        [&](int node) { return node_at(graph, node).ends_block; });
        const int cut = block == candidates.end() ? candidates.back() : *block;
        chosen.push_back(node_at(graph, cut).name);
      }
      candidates = {to};
    } else if (!candidates.empty()) {
      candidates.push_back(to);
    }
    from = to;
  }
  return chosen;
}

}  // namespace penstock
