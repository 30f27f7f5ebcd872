// Files that stand behind an option which takes another kind, and folders where one of their files
// was meant: what it is, and the whole command with the file in its place.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kBadInput} for "--device cluster.json", "--cluster config.json", and for "plan
// data/models".
void refuse_misplaced_files(const OptionTable& table, const Arguments& words);

}  // namespace penstock
