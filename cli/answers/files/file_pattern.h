// "job/*.sh" in quotes, or where nothing is called so: the shell leaves it as it is.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kMissingResource} with the files that are called so, in the whole command.
void refuse_file_pattern(const OptionTable& table, const Arguments& words);

}  // namespace penstock
