// Who counts GPUs without knowing of which type they are (a job's list of machines, a recording, a
// launcher's number of ranks) can follow only a book whose plans all use one type.
#pragma once

#include <string>

#include "core/values/loaded.h"
#include "core/values/plan_book.h"

namespace penstock {

// Error{kBadInput} for a book with plans on several types, or whose pages count types. `who`: "a
// job's list of machines".
void require_one_device_type(const Loaded<PlanBook>& book, const std::string& who);

}  // namespace penstock
