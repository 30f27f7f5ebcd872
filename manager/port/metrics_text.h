// The state of a job in Prometheus' text format, version 0.0.4.
#pragma once

#include <string>

#include "manager/port/job_status.h"

namespace penstock {

std::string metrics_text(const JobStatus& status);

}  // namespace penstock
