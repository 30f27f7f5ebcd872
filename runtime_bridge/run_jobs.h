// Several training jobs on the ranks of one machine, each a process of its own, in the order of a
// schedule: a job starts when everything before it on its ranks has ended. One that fails ends
// alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct ScheduledJob {
  std::string name;
  std::vector<int> ranks;   // of the machine, ascending
  Duration start{}, end{};  // as scheduled
  bool operator==(const ScheduledJob&) const = default;
};

struct JobEnd {
  bool was_started = false;
  Duration start{}, end{};  // since the first could start
  int exit_code = 0;        // 0 where a signal ended it
  int signal = 0;
  // Neither has failed where it was not started, or stopped because it was asked to.
  [[nodiscard]] bool failed() const { return was_started && (exit_code != 0 || signal != 0); }
  bool operator==(const JobEnd&) const = default;
};

class JobsObserver {
 public:
  virtual ~JobsObserver() = default;
  virtual void job_started(std::size_t job) = 0;
  virtual void job_ended(std::size_t job, const JobEnd& end) = 0;
  // All the time, some ten times a second.
  virtual void time_passed() = 0;
};

struct RunJobsOptions {
  // The process id of a new child. What it throws is the job's failure, and is said by the child's
  // end: exit code 127.
  std::function<int(std::size_t job)> start;
  // Asked all the time: whether no further job is to start, and those that run are to end after
  // their step (SIGUSR1).
  std::function<bool()> is_stopped;
  JobsObserver* observer = nullptr;  // may be absent
};

// Returns when all that were started have ended. Entry i belongs to jobs[i].
std::vector<JobEnd> run_jobs(const std::vector<ScheduledJob>& jobs, const RunJobsOptions& options);

// A child with these arguments ("/proc/self/exe": this program) in a process group of its own,
// whose output goes to the two files. Error{kMissingResource} when it cannot be started.
struct ChildProgram {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // beside the own
  std::string output, errors;                                    // paths
};
int start_child(const ChildProgram& child);

}  // namespace penstock
