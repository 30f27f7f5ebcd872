// Files of which the verb knows what belongs there.
#pragma once

#include <string>
#include <string_view>

#include "core/values/json.h"
#include "core/values/loaded.h"

namespace penstock {

// Error{kMissingResource} when there is no such file: which one was meant, or else `belongs`.
std::string load_text(const std::string& path, std::string_view belongs);

// penstock.jobs/1, as load_runs().
Loaded<Json> load_jobs(const std::string& path);

// Of a file that is known not to be what an option such as --runs takes ("penstock.runs/1"): where
// it belongs, and how to come by what does. Nothing where it may be right, or is not there.
std::string help_for_misplaced(const std::string& path, std::string_view option);

}  // namespace penstock
