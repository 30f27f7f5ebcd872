// What it costs that transfers share links, in words and as JSON.
#pragma once

#include <string>

#include "core/values/json.h"
#include "core/values/network.h"
#include "report/screen.h"

namespace penstock {

// A section behind an empty line.
std::string contention_text(const ContentionEffect& effect, const std::string& cluster,
                            Screen screen);
Json to_json(const ContentionEffect& effect);

}  // namespace penstock
