// `penstock train --jobs`: the jobs of a file, each trained by its plan in a process of its own.
// One of jobs_run.cc and, in a program without the planner, verbs/planning_none.cc is linked.
#pragma once

#include <functional>
#include <string>

#include "cli/io/answer.h"
#include "report/screen.h"

namespace penstock {

struct JobsToRun {
  std::string file;    // penstock.jobs/1
  std::string folder;  // of logs, checkpoints and what the jobs say
  int ranks = 1;       // of this machine
  bool json = false;
  std::function<bool()> is_stopped;
};

// Exit code 1 when a job has failed; the others have gone on.
Answer run_jobs_of_file(const JobsToRun& wanted, Screen screen);

}  // namespace penstock
