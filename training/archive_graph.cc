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

// Those with one tensor, where there are such.
std::string known_cuts(const ArchiveGraph& graph) {
  if (!graph.undivided.empty()) return "it cannot be divided, since " + graph.undivided;
  std::vector<int> cuts = possible_cuts(graph);
  if (cuts.empty()) cuts = possible_cuts(graph, kMostHandedOn);
  if (cuts.empty()) return "it has none: everywhere too many tensors are still to be read";
  return "along the model there are " + listed(graph, cuts);
}

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& name,
                         const std::string& why) {
  throw_bad_input(where + ": " + what + " \"" + name + "\" " + why);
}

}  // namespace

std::vector<int> possible_cuts(const ArchiveGraph& graph, int most_handed_on) {
  const int nodes = static_cast<int>(graph.nodes.size());
  std::vector<int> last_reader(graph.nodes.size(), 0);
  for (const auto& [from, to] : graph.edges) {
    int& last = last_reader[static_cast<std::size_t>(from)];
    last = std::max(last, to);
  }
  std::vector<int> cuts, open;  // open: nodes so far that a later one reads
  for (int i = 1; i + 1 < nodes; ++i) {
    std::erase_if(open, [&](int node) { return last_reader[static_cast<std::size_t>(node)] <= i; });
    if (last_reader[static_cast<std::size_t>(i)] <= i) continue;
    open.push_back(i);
    const bool all_fit = std::all_of(open.begin(), open.end(), [&](int node) {
      return graph.nodes[static_cast<std::size_t>(node)].is_boundary;
    });
    if (all_fit && static_cast<int>(open.size()) <= most_handed_on) cuts.push_back(i);
  }
  return cuts;
}

std::vector<std::string> children_cuts(const ArchiveGraph& graph) {
  std::vector<std::string> names;
  for (const int cut : possible_cuts(graph, kMostHandedOn)) {
    const ArchiveNode& node = graph.nodes[static_cast<std::size_t>(cut)];
    if (node.is_child) names.push_back(node.name);
  }
  return names;
}

std::vector<int> named_cuts(const ArchiveGraph& graph, const std::vector<std::string>& names,
                            const std::string& where) {
  const std::vector<int> possible = possible_cuts(graph, kMostHandedOn);
  std::vector<int> cuts;
  cuts.reserve(names.size());
  for (const std::string& name : names) {
    const auto found = std::find_if(possible.begin(), possible.end(), [&](int cut) {
      return is_called(graph.nodes[static_cast<std::size_t>(cut)], name);
    });
    if (found == possible.end()) {
      refuse(where, "no cutpoint", name, "here; " + known_cuts(graph));
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
