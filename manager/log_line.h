// A decision in one line, for the terminal of the manager and for `penstock status`.
#pragma once

#include <string>

#include "manager/decision.h"

namespace penstock {

// "13:58:30 note: machine a will be gone by ... The job uses it, and needs 2 s ...": what happened,
// where the reason does not say it itself, and the reason. The time is UTC.
std::string log_line(const LogEntry& entry);

}  // namespace penstock
