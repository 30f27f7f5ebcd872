// A whole command line of a launcher where a file belongs: "check torchrun --nproc_per_node 8 ..".
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// Error{kBadInput} that names the file to check, or says to make one.
void refuse_pasted_command(const std::string& usage, const Arguments& arguments);

}  // namespace penstock
