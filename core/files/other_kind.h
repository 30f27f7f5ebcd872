// What speaks against a config.json being of a language model of alike attention layers.
#pragma once

#include <string>

#include "core/files/config_fields.h"

namespace penstock {

// "an encoder-decoder model"; empty: nothing known against it. `family` is the class without its
// suffix, `type` the file's model_type.
std::string why_other_kind(ConfigFields& fields, const std::string& family,
                           const std::string& type);

}  // namespace penstock
