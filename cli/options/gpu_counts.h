// --gpus of one number or of many: "64", "8..64", "8..64:8", "4,8,16..32".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Ascending, each once and not below `least`; nothing for a single number. Error{kBadInput}, which
// names `option`, for what is no such list.
std::optional<std::vector<int>> gpu_counts(const std::string& typed,
                                           std::string_view option = "--gpus", int least = 1);

}  // namespace penstock
