// Opens the port of a job as its file asks for it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/values/plan_book.h"
#include "manager/job_file.h"
#include "manager/port/port_events.h"

namespace penstock {

// The key of a job's port.
std::string token_path(const JobFile& job);

// What open_port() would refuse of the job file, before anything is made or started.
void check_address(const JobFile& job);

// Makes the key where there is none, listens, and writes the address into the run folder, which
// must be there. Nothing where the job wants no port. Error{kBadInput} for an address that others
// can reach without a token_file that says who they are, Error{kMissingResource} when it cannot be
// had.
std::unique_ptr<PortEvents> open_port(const JobFile& job, const PlanBook& book,
                                      std::function<UtcTime()> clock);

}  // namespace penstock
