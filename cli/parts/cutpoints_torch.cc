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
        "because at every place inside it more than {} results are still needed, or some that no "
        "message can carry",
        kMostHandedOn);
  }
  return fmt::format("although it has {} cutpoint{} that --cutpoints can name", places,
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
