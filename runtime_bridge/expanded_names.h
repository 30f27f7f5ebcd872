// Names of files as people give them: patterns, too.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// "tokens/*.bin" is all files with such a name, by their bytes; a name that is a file is that file.
// Error{kMissingResource} for a pattern that no file has.
std::vector<std::string> expanded_names(const std::vector<std::string>& names);

}  // namespace penstock
