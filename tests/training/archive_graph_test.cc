#include "training/archive_graph.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

// Nodes are named by letters, edges by two of them: "ab" leads from a to b. All are boundaries but
// those in `others`.
ArchiveGraph graph_of(const std::string& nodes, const std::vector<std::string>& edges,
                      const std::string& others = "") {
  ArchiveGraph graph;
  for (const char name : nodes) {
    ArchiveNode node;
    node.name = name;
    node.is_boundary = others.find(name) == std::string::npos;
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
  for (const int cut : possible_cuts(graph))
    text += graph.nodes[static_cast<std::size_t>(cut)].name;
  return text;
}

std::string refusal(const ArchiveGraph& graph, const std::vector<std::string>& names) {
  return tests::message_of([&] { (void)named_cuts(graph, names, "m.pt"); });
}

TEST_CASE("a section may end where nothing behind reads what was made before") {
  CHECK(cuts(graph_of("iabco", {"ia", "ab", "bc", "co"})) == "abc");
  CHECK(cuts(graph_of("iabc+o", {"ia", "ab", "bc", "c+", "a+", "+o"})) == "a+");
  // The model's inputs are there for every section.
  CHECK(cuts(graph_of("iab+o", {"ia", "ab", "b+", "i+", "+o"})) == "ab+");
  CHECK(cuts(graph_of("io", {"io"})).empty());
  CHECK(cuts({}).empty());
}

TEST_CASE("with more tensors a section may end where several nodes are still to be read") {
  const auto with = [](int most, const std::string& others = "") {
    const ArchiveGraph graph =
        graph_of("iabcd+o", {"ia", "ab", "bc", "cd", "d+", "b+", "a+", "+o"}, others);
    std::string text;
    for (const int cut : possible_cuts(graph, most)) {
      text += graph.nodes[static_cast<std::size_t>(cut)].name;
    }
    return text;
  };
  CHECK(with(1) == "a+");
  CHECK(with(2) == "ab+");
  CHECK(with(3) == "abcd+");
  CHECK(with(3, "b") == "a+");  // it cannot be handed on, and is open until +
}

TEST_CASE("what cannot be handed on ends no section") {
  CHECK(cuts(graph_of("iabco", {"ia", "ab", "bc", "co"}, "b")) == "ac");
}

TEST_CASE("cuts are named in any order, by alias too, and come along the model") {
  ArchiveGraph graph = graph_of("iabco", {"ia", "ab", "bc", "co"});
  graph.nodes[3].aliases = {"tail"};
  CHECK(named_cuts(graph, {"tail", "a"}, "m.pt") == std::vector<int>{1, 3});
  graph.nodes[2].is_child = true;
  CHECK(children_cuts(graph) == std::vector<std::string>{"b"});
}

TEST_CASE("a name that is no cut is answered with those there are, or why there are none") {
  ArchiveGraph graph = graph_of("iabc+o", {"ia", "ab", "bc", "c+", "a+", "+o"});
  CHECK(refusal(graph, {"e"}) == "m.pt: no cutpoint \"e\" here; along the model there are a, +");
  CHECK(refusal(graph, {"a", "a"}) == "m.pt: cutpoint \"a\" is named twice; keep one");
  CHECK(refusal(graph_of("io", {"io"}), {"b"}) ==
        "m.pt: no cutpoint \"b\" here; it has none: everywhere too many tensors are still to be "
        "read");
  graph = {};
  graph.undivided = "its forward sings";
  CHECK(refusal(graph, {"b"}) ==
        "m.pt: no cutpoint \"b\" here; it cannot be divided, since its forward sings");
}

}  // namespace
}  // namespace penstock
