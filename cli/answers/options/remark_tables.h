// The parts of option_remarks(), in the order in which they are read: a word may stand in several,
// and the first row that fits is said.
#pragma once

#include <span>

#include "cli/answers/options/option_remarks.h"

namespace penstock {

std::span<const Remark> remarks_to_one_verb();
std::span<const Remark> remarks_on_layouts();
std::span<const Remark> remarks_on_searches();

}  // namespace penstock
