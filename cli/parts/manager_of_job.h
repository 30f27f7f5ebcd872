// How verbs find the manager of a job: by its job file, or by what was typed instead.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "manager/job_file.h"
#include "manager/port/send_command.h"

namespace penstock {

struct ManagerOptions {
  std::optional<std::string> manager, key;

  void declare(Options& options);
};

JobFile load_job(const std::string& path);

// Where the manager listens: what was typed, else what it wrote into the run folder. Nothing where
// there is no such file: no manager has ever run.
std::optional<std::string> manager_address(const JobFile& job, const ManagerOptions& given);
// A line to it. Error{kMissingResource} without an address or a key that may be read.
ManagerLine line_to_manager(const JobFile& job, const ManagerOptions& given);

UtcTime utc_now();

}  // namespace penstock
