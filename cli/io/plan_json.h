// A plan file as JSON, for readers of parts of it; what else was given is refused as load_plan
// does.
#pragma once

#include <string>

#include "core/values/json.h"
#include "core/values/loaded.h"

namespace penstock {

Loaded<Json> load_plan_json(const std::string& path);

}  // namespace penstock
