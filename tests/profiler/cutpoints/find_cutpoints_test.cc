#include "profiler/cutpoints/find_cutpoints.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

// Nodes are named by letters, edges by two of them: "ab" leads from a to b.
ModelGraph graph_of(const std::string& nodes, const std::vector<std::string>& edges) {
  ModelGraph graph;
  for (const char node : nodes) graph.names.emplace_back(1, node);
  for (const std::string& edge : edges) {
    graph.edges.emplace_back(static_cast<int>(nodes.find(edge[0])),
                             static_cast<int>(nodes.find(edge[1])));
  }
  return graph;
}

std::string cutpoints(const std::string& nodes, const std::vector<std::string>& edges) {
  const ModelGraph graph = graph_of(nodes, edges);
  std::string text;
  for (const int node : find_cutpoints(graph)) text += graph.names[static_cast<std::size_t>(node)];
  return text;
}

TEST_CASE("a chain can be cut everywhere") {
  CHECK(cutpoints("iabco", {"ia", "ab", "bc", "co"}) == "abc");
}

// i - a - b - c - (+) - o, with a skip from a to +: what goes around b and c keeps them from being
// cutpoints, the sum is one.
TEST_CASE("a residual block is cut before its branch and at its sum") {
  CHECK(cutpoints("iabc+o", {"ia", "ab", "bc", "c+", "a+", "+o"}) == "a+");
}

TEST_CASE("residual blocks in a row are cut between them") {
  CHECK(cutpoints("iab+c*o", {"ia", "ab", "b+", "a+", "+c", "c*", "+*", "*o"}) == "a+*");
}

// Two branches from a, one of two nodes, that meet in d.
TEST_CASE("of two branches neither is passed by everything") {
  CHECK(cutpoints("iabcdo", {"ia", "ab", "bd", "ac", "cd", "do"}) == "ad");
}

TEST_CASE("a skip over everything leaves no cutpoint") {
  CHECK(cutpoints("iabo", {"ia", "ab", "bo", "io"}).empty());
}

// w is a weight that b uses, u a result of a that nobody uses.
TEST_CASE("what does not lie between input and output does not count") {
  CHECK(cutpoints("iabwuo", {"ia", "ab", "wb", "au", "bo"}) == "ab");
}

TEST_CASE("an output used twice is still one tensor") {
  CHECK(cutpoints("iabo", {"ia", "ab", "ab", "bo"}) == "ab");
}

TEST_CASE("input and output alone have nothing between them") {
  CHECK(cutpoints("io", {"io"}).empty());
}

TEST_CASE("graphs that are none are refused") {
  CHECK_THROWS_WITH_AS(find_cutpoints(graph_of("i", {})),
                       doctest::Contains("needs an input and an output"), Error);
  CHECK_THROWS_WITH_AS(find_cutpoints(graph_of("iabo", {"ia", "bo"})),
                       doctest::Contains("the output does not depend on the input"), Error);
  CHECK_THROWS_WITH_AS(find_cutpoints(graph_of("iabo", {"ia", "ab", "ba", "bo"})),
                       doctest::Contains("it has a cycle"), Error);
  ModelGraph graph = graph_of("io", {"io"});
  graph.edges.emplace_back(0, 7);
  CHECK_THROWS_WITH_AS(find_cutpoints(graph), doctest::Contains("to node number 7"), Error);
}

}  // namespace
}  // namespace penstock
