// Between layers per stage, as trainers count them, and the cuts of a Plan.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// What stands before the layers goes to the first stage, what follows them to the last. Empty when
// the sections have no layers by name, or another number of them.
std::vector<int> cuts_of_layers(const std::vector<std::string>& section_names,
                                const std::vector<int>& layers_per_stage);

// And back; empty when the sections have no layers by name.
std::vector<int> layers_of_cuts(const std::vector<std::string>& section_names,
                                const std::vector<int>& cuts);

}  // namespace penstock
