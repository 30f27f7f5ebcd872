// "-o json" and "-ojson=plan.json", as tools have it whose -o chooses a form: here it names a file.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kBadInput} with the whole command, a file of that form in its place.
void refuse_form_as_output(const OptionTable& table, const Arguments& words);

}  // namespace penstock
