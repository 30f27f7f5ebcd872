// Where a config.json holds the language model: multimodal files nest it.
#pragma once

#include <string_view>

#include "core/values/json.h"

namespace penstock {

// Null is none.
bool is_json_object(const Json* json);
// The name of the object that holds the language model; empty when it is the file.
std::string_view language_part(const Json& json);

}  // namespace penstock
