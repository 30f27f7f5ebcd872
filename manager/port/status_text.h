// The state of a job as people read it in a terminal.
#pragma once

#include <string>

#include "manager/port/job_status.h"
#include "report/screen.h"

namespace penstock {

// `now`: ages are counted from it.
std::string status_text(const JobStatus& status, UtcTime now, Screen screen);

}  // namespace penstock
