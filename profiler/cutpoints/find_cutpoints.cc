#include "profiler/cutpoints/find_cutpoints.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/range/iterator_range.hpp>

#include "core/values/error.h"

namespace penstock {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using Node = boost::graph_traits<Graph>::vertex_descriptor;

std::string node_text(const ModelGraph& graph, int node) {
  const auto index = static_cast<std::size_t>(node);
  return node >= 0 && index < graph.names.size() ? "'" + graph.names[index] + "'"
                                                 : "number " + std::to_string(node);
}

Graph graph_of(const ModelGraph& model) {
  const int nodes = static_cast<int>(model.names.size());
  if (nodes < 2) throw_bad_input("model graph: it needs an input and an output");
  Graph graph(model.names.size());
  for (const auto& [from, to] : model.edges) {
    if (from < 0 || to < 0 || from >= nodes || to >= nodes) {
      throw_bad_input("model graph: an edge from node " + node_text(model, from) + " to node " +
                      node_text(model, to) + ", but there are " + std::to_string(nodes) + " nodes");
    }
    boost::add_edge(static_cast<Node>(from), static_cast<Node>(to), graph);
  }
  return graph;
}

// Every node behind all that it depends on.
std::vector<Node> in_order(const Graph& graph) {
  std::vector<Node> order;
  order.reserve(boost::num_vertices(graph));
  try {
    boost::topological_sort(graph, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {  // the library's exceptions end here
    throw_bad_input("model graph: it has a cycle, so that no part of it comes first");
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Without the edges from weights and constants: Boost's dominator tree wants every node that has an
// edge to be reached from the root.
Graph reached_from_input(const Graph& graph) {
  std::vector<bool> reached(boost::num_vertices(graph), false);
  reached[0] = true;
  Graph rest(boost::num_vertices(graph));
  for (const Node node : in_order(graph)) {
    if (!reached[node]) continue;
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(node, graph))) {
      const Node target = boost::target(edge, graph);
      reached[target] = true;
      boost::add_edge(node, target, rest);
    }
  }
  return rest;
}

}  // namespace

// In a graph without cycles a node lies on every path from input to output exactly when it
// dominates the output: the chain of immediate dominators of the output, read backwards.
std::vector<int> find_cutpoints(const ModelGraph& model) {
  const Graph graph = reached_from_input(graph_of(model));
  constexpr Node kInput = 0;
  const Node output = boost::num_vertices(graph) - 1;
  const Node none = boost::graph_traits<Graph>::null_vertex();
  std::vector<Node> dominator(boost::num_vertices(graph), none);
  boost::lengauer_tarjan_dominator_tree(
      graph, kInput,
      boost::make_iterator_property_map(dominator.begin(), boost::get(boost::vertex_index, graph)));
  if (dominator[output] == none) {
    throw_bad_input("model graph: the output does not depend on the input");
  }
  std::vector<int> cutpoints;
  for (Node node = dominator[output]; node != kInput; node = dominator[node]) {
    cutpoints.push_back(static_cast<int>(node));
  }
  std::reverse(cutpoints.begin(), cutpoints.end());
  return cutpoints;
}

}  // namespace penstock
