// What is asked of a plan that is there by an option that its verb has not: another choice, which
// `explain --why-not` compares with it, or a drawing, which `trace` writes.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Throws the whole command, with the plan, the choice and the file as they were typed. `words`:
// behind the verb of the table.
void refuse_asked_of_plan(const OptionTable& table, const Arguments& words);

}  // namespace penstock
