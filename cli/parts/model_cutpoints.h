// Where the archive that `penstock profile` is given is divided. What needs LibTorch and what needs
// the planner's libraries is one file of a pair each.
#pragma once

#include <string>
#include <vector>

#include "cli/options/profile_options.h"
#include "training/archive_graph.h"

namespace penstock {

// Puts what --cutpoints asks for into the description of an archive, and says in the notes when it
// stays in one piece. Any other model is left as it is. Error{kBadInput} for a name that is no
// cutpoint of the archive.
void divide_model(ProfileRequest& request);

// automatic_cutpoints(); Error{kMissingResource} in a build without the planner.
std::vector<std::string> search_cutpoints(const ArchiveGraph& graph);

}  // namespace penstock
