#include <fmt/format.h>

#include "cli/parts/model_cutpoints.h"
#include "training/torch/read_archive_graph.h"

namespace penstock {
namespace {

std::vector<std::string> cutpoints_of(const ArchiveGraph& graph, const ProfileRequest& request) {
  if (request.cutpoints == std::vector<std::string>{"auto"}) return search_cutpoints(graph);
  if (request.cutpoints == std::vector<std::string>{"children"}) return children_cuts(graph);
  std::vector<std::string> names;
  for (const int cut : named_cuts(graph, request.cutpoints, "--cutpoints")) {
    names.push_back(graph.nodes[static_cast<std::size_t>(cut)].name);
  }
  return names;
}

std::string why_one_section(const ArchiveGraph& graph) {
  if (!graph.undivided.empty()) return "since " + graph.undivided;
  const std::size_t places = possible_cuts(graph, kMostHandedOn).size();
  if (places == 0) {
    return fmt::format(
        "because everywhere inside it more than {} results are still to be read, or some that no "
        "message carries",
        kMostHandedOn);
  }
  return fmt::format("though it has {} cutpoint{} that --cutpoints can name", places,
                     places == 1 ? "" : "s");
}

}  // namespace

void divide_model(ProfileRequest& request) {
  if (!request.model || request.model->family != ModelFamily::kTorchScript) return;
  const ArchiveGraph graph = read_archive_graph(*request.model, request.sequence_length);
  request.model->cutpoints = cutpoints_of(graph, request);
  if (request.model->cutpoints.empty()) {
    request.notes.push_back("the archive is one section, " + why_one_section(graph));
  }
}

}  // namespace penstock
