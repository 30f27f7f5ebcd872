#include "profiler/cutpoints/automatic_cutpoints.h"

#include <algorithm>
#include <cstddef>

namespace penstock {
namespace {

const ArchiveNode& node_at(const ArchiveGraph& graph, int node) {
  return graph.nodes[static_cast<std::size_t>(node)];
}

bool reads_matrix(const ArchiveGraph& graph, int from, int to) {
  return std::any_of(graph.nodes.begin() + from + 1, graph.nodes.begin() + to + 1,
                     [](const ArchiveNode& node) { return node.uses_matrix; });
}

// Inside a section where no single tensor is all that the rest follows from: the ends of the
// model's own units (blocks of a decoder that all read the encoder, steps of a U-Net), each with a
// matrix in front of it and one behind.
void add_ends_of_units(const ArchiveGraph& graph, int from, int to, std::vector<int>& chosen) {
  std::vector<int> ends;
  int begin = from;
  for (const int cut : possible_cuts(graph, kMostHandedOn)) {
    if (cut <= begin || cut >= to || !node_at(graph, cut).is_unit) continue;
    if (!reads_matrix(graph, begin, cut) || !reads_matrix(graph, cut, to)) continue;
    ends.push_back(cut);
    begin = cut;
  }
  chosen.insert(chosen.end(), ends.begin(), ends.end());
}

std::vector<int> single_cuts(const ArchiveGraph& graph) {
  std::vector<int> chosen;
  std::vector<int> ends = possible_cuts(graph);
  ends.push_back(static_cast<int>(graph.nodes.size()) - 1);
  // Boundaries since the last part that reads a matrix, that part's own end first.
  std::vector<int> candidates;
  int from = 0;
  for (const int to : ends) {
    if (reads_matrix(graph, from, to)) {
      if (!candidates.empty()) {
        const auto block = std::find_if(candidates.begin(), candidates.end(),
                                        [&](int node) { return node_at(graph, node).ends_block; });
        chosen.push_back(block == candidates.end() ? candidates.back() : *block);
      }
      candidates = {to};
    } else if (!candidates.empty()) {
      candidates.push_back(to);
    }
    from = to;
  }
  return chosen;
}

}  // namespace

std::vector<std::string> automatic_cutpoints(const ArchiveGraph& graph) {
  std::vector<std::string> names;
  if (graph.nodes.size() < 2) return names;
  std::vector<int> chosen = single_cuts(graph);
  std::vector<int> ends = chosen;
  ends.push_back(static_cast<int>(graph.nodes.size()) - 1);
  int from = 0;
  for (const int to : ends) {
    add_ends_of_units(graph, from, to, chosen);
    from = to;
  }
  std::sort(chosen.begin(), chosen.end());
  for (const int cut : chosen) names.push_back(node_at(graph, cut).name);
  return names;
}

}  // namespace penstock
