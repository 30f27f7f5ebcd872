// What is asked of a verb and is answered by other options or by another verb: the whole command.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Throws that command. `words`: behind the verb whose options are in the table.
void refuse_other_question(const OptionTable& table, const Arguments& words);

}  // namespace penstock
