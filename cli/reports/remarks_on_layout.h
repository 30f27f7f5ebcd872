// What is answered as it was asked, and may not have been meant so: a layout that leaves GPUs over,
// says nothing but a batch, or divides the batch or the layers unevenly.
#pragma once

#include <string>

#include "cli/options/layout.h"
#include "cli/options/search_options.h"
#include "core/values/plan.h"
#include "core/values/profile.h"

namespace penstock {

// Lines that begin with "note:", or nothing. `plan` is what the layout became; `is_estimated`: from
// a config.json, which has no length of its own.
std::string remarks_on_layout(const SearchOptions& given, const Layout& layout, const Plan& plan,
                              const ModelProfile& profile, bool is_estimated);

}  // namespace penstock
