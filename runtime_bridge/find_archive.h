// Where the archive of a plan lies. A profile names it as it was called when it was profiled, and a
// run begins in any folder.
#pragma once

#include <string>

#include "core/values/model_description.h"

namespace penstock {

// `description.archive` as an absolute path: as it is named from the working directory; from the
// plan's folder or one above it; or a file of that name beside the plan. Which archive it must be
// says its hash, which is compared when it is loaded. Error{kMissingResource} where there is none.
// Built-in models have none, and nothing changes.
void find_archive(ModelDescription& description, const std::string& plan_path);

}  // namespace penstock
