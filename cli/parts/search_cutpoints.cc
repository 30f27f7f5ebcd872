#include "cli/parts/model_cutpoints.h"
#include "profiler/cutpoints/automatic_cutpoints.h"

namespace penstock {

std::vector<std::string> search_cutpoints(const ArchiveGraph& graph) {
  return automatic_cutpoints(graph);
}

}  // namespace penstock
