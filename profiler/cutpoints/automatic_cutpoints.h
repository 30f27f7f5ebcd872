// Which of a model's cutpoints are worth cutting at.
#pragma once

#include <string>
#include <vector>

#include "training/archive_graph.h"

namespace penstock {

// Names of cutpoints with one tensor such that every section reads a matrix of weights and none
// could be cut once more so that both parts do. What reads none between two that do (norms,
// activations, sums) goes with the section in front of it, unless a submodule that holds a matrix
// ends before: then sections end where that one does. Where no single tensor is enough (a decoder
// that reads its encoder, a U-Net), at the ends of the model's units.
std::vector<std::string> automatic_cutpoints(const ArchiveGraph& graph);

}  // namespace penstock
