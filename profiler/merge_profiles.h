// New measurements into a profile that exists: what `profile --resume` does.
#pragma once

#include <string>

#include "core/values/profile.h"

namespace penstock {

// `fresh` replaces measurements of the same device, tensor degree, micro-batch size, sequence
// length and recompute mode, and is added to the others; each keeps its source. The optimizer's
// time is that of `fresh`, if it has one. Error{kBadInput}, naming `file`, when `existing` is of
// another model: another description, other sections, other numbers of parameters.
ModelProfile merge_profiles(const ModelProfile& existing, const ModelProfile& fresh,
                            const std::string& file);

}  // namespace penstock
