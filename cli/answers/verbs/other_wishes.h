// What was typed to one verb and is another verb's answer, seen in the words as a whole: the files,
// the names of schedules and the options together say it, where each alone would be refused for
// another reason.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kBadInput} with the whole command that does it, which keeps what was typed.
void refuse_other_wish(const OptionTable& table, const Arguments& words);

}  // namespace penstock
