#include "training/archive_graph.h"

#include <algorithm>
#include <cstddef>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::size_t kMostListed = 40;

bool is_called(const ArchiveNode& node, const std::string& name) {
  return node.name == name ||
         std::find(node.aliases.begin(), node.aliases.end(), name) != node.aliases.end();
}

std::string listed(const ArchiveGraph& graph, const std::vector<int>& cuts) {
  std::string text;
  for (std::size_t i = 0; i < cuts.size() && i < kMostListed; ++i) {
    text += (i == 0 ? "" : ", ") + graph.nodes[static_cast<std::size_t>(cuts[i])].name;
  }
  if (cuts.size() > kMostListed) {
    text += " and " + std::to_string(cuts.size() - kMostListed) + " more";
  }
  return text;
}

std::string known_cuts(const ArchiveGraph& graph, const std::vector<int>& cuts) {
  if (!graph.undivided.empty()) return "it cannot be divided, since " + graph.undivided;
  if (cuts.empty()) return "it has none: nothing but the result follows from one tensor alone";
  return "along the model there are " + listed(graph, cuts);
}

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& name,
                         const std::string& why) {
  throw_bad_input(where + ": " + what + " \"" + name + "\" " + why);
}

}  // namespace

std::vector<int> possible_cuts(const ArchiveGraph& graph) {
  const int nodes = static_cast<int>(graph.nodes.size());
  // The last reader of anything before a node, and of the node itself.
  std::vector<int> last_reader(graph.nodes.size(), 0);
  for (const auto& [from, to] : graph.edges) {
    int& last = last_reader[static_cast<std::size_t>(from)];
    last = std::max(last, to);
  }
  std::vector<int> cuts;
  int open_until = nodes > 0 ? last_reader[0] : 0;
  for (int i = 1; i + 1 < nodes; ++i) {
    const auto node = static_cast<std::size_t>(i);
    if (open_until <= i && graph.nodes[node].is_boundary) cuts.push_back(i);
    open_until = std::max(open_until, last_reader[node]);
  }
  return cuts;
}

std::vector<std::string> children_cuts(const ArchiveGraph& graph) {
  std::vector<std::string> names;
  for (const int cut : possible_cuts(graph)) {
    const ArchiveNode& node = graph.nodes[static_cast<std::size_t>(cut)];
    if (node.is_child) names.push_back(node.name);
  }
  return names;
}

std::vector<int> named_cuts(const ArchiveGraph& graph, const std::vector<std::string>& names,
                            const std::string& where) {
  const std::vector<int> possible = possible_cuts(graph);
  std::vector<int> cuts;
  cuts.reserve(names.size());
  for (const std::string& name : names) {
    const auto found = std::find_if(possible.begin(), possible.end(), [&](int cut) {
      return is_called(graph.nodes[static_cast<std::size_t>(cut)], name);
    });
    if (found == possible.end()) {
      refuse(where, "no cutpoint", name, "here; " + known_cuts(graph, possible));
    }
    if (std::find(cuts.begin(), cuts.end(), *found) != cuts.end()) {
      refuse(where, "cutpoint", name, "is named twice; keep one");
    }
    cuts.push_back(*found);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace penstock
