// "auto", "none", "all" and -1, which other tools take for "choose", "off" and "no limit": what an
// option that takes none of them does where it is left out.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kBadInput} for the first option of the words with such a value.
void refuse_odd_values(const OptionTable& table, const Arguments& words);

}  // namespace penstock
