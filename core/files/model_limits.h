// How large a model may be before its counts could pass 64 bits.
#pragma once

#include <optional>
#include <string>

#include "core/values/architecture.h"

namespace penstock {

// What of a model is far beyond any that exists, and far below where 64 bits end: "more than 10^15
// parameters". A section takes half of the 10^12 parameters that a profile's section may have, so
// that the small parts (biases, norms) that are not counted here still fit.
std::optional<std::string> beyond_any_model(const Architecture& model);

}  // namespace penstock
