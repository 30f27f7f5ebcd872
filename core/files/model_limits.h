// How large a model may be before its counts could pass 64 bits.
#pragma once

#include "core/values/architecture.h"

namespace penstock {

// Far beyond any model, and far below where 64 bits end: more than 10^15 parameters.
bool beyond_any_model(const Architecture& model);

}  // namespace penstock
