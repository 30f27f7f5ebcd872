// Reading a plan file whose Program need not be written out, since somebody knows what it is.
#pragma once

#include <functional>
#include <string>

#include "core/values/plan_file.h"

namespace penstock {

// Asked with what stands before the Program in the file (the decisions, the executor, the prices)
// and with the Program as it stands there: whether it is known to be well-formed, and what it does.
using IsKnownProgram = std::function<bool(const PlanFile& before, const Json& program)>;

// read_plan(), which leaves PlanFile::program without actions where it is known.
PlanFile read_plan_unless_known(const Json& json, const std::string& file,
                                const IsKnownProgram& is_known);

}  // namespace penstock
