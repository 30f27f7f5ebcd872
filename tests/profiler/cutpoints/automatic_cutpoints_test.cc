#include "profiler/cutpoints/automatic_cutpoints.h"

#include <cctype>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// A node per letter: capital ones read a matrix, those in `blocks` end a submodule that holds one.
ArchiveGraph graph_of(const std::string& nodes, const std::vector<std::string>& edges,
                      const std::string& blocks = "") {
  ArchiveGraph graph;
  for (const char name : nodes) {
    ArchiveNode node;
    node.name = name;
    node.uses_matrix = std::isupper(static_cast<unsigned char>(name)) != 0;
    node.ends_block = blocks.find(name) != std::string::npos;
    node.is_boundary = true;
    graph.nodes.push_back(node);
  }
  for (const std::string& edge : edges) {
    graph.edges.emplace_back(static_cast<int>(nodes.find(edge[0])),
                             static_cast<int>(nodes.find(edge[1])));
  }
  return graph;
}

std::string cuts(const ArchiveGraph& graph) {
  std::string text;
  for (const std::string& name : automatic_cutpoints(graph)) text += name;
  return text;
}

// E embeds, x and y are sums behind the branches (n, A) and (m, B), f a norm, H the head. Both
// branches read a matrix, so there is a cut at each sum; the norm goes with the head, since the
// block ended before it.
TEST_CASE("residual blocks are cut at their sums, and norms go where no block is cut open") {
  const std::vector<std::string> edges{"iE", "En", "nA", "Ax", "Ex", "xm",
                                       "mB", "By", "xy", "yf", "fH"};
  CHECK(cuts(graph_of("iEnAxmByfH", edges, "y")) == "Exy");
  // Without blocks the norm goes with what is in front of it.
  CHECK(cuts(graph_of("iEnAxmByfH", edges)) == "Exf");
}

TEST_CASE("what reads no matrix is no section of its own") {
  CHECK(cuts(graph_of("iaEbcFd", {"ia", "aE", "Eb", "bc", "cF", "Fd"})) == "c");
  CHECK(cuts(graph_of("iEbc", {"iE", "Eb", "bc"})).empty());
}

// As the check of training/archive_graph.h sees it, too.
TEST_CASE("every cut is one that is possible") {
  const ArchiveGraph graph = graph_of("iAbCdEF", {"iA", "Ab", "bC", "Cd", "bd", "dE", "EF", "iC"});
  CHECK(cuts(graph) == "bdE");
  CHECK(named_cuts(graph, automatic_cutpoints(graph), "") == std::vector<int>{2, 4, 5});
}

}  // namespace
}  // namespace penstock
