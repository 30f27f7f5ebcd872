// Several values of a setting of which a question has one: they are compared.
#pragma once

#include <string>

#include "cli/answers/commands/given_options.h"

namespace penstock {

// Error{kBadInput} for "--sequence-length 4k,8k", "--mbs 1,2,4" and "--network HDR --network NDR"
// of `plan` and `compare`, with the command that plans for each.
void refuse_several_values(const std::string& verb, const Arguments& words,
                           const GivenWords& given);

}  // namespace penstock
