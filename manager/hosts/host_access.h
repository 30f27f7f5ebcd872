// The way to the machines of a job: how a process is started there, found and signalled. What it
// starts lives on when the manager is killed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manager/hosts/job_processes.h"

namespace penstock {

struct DetachedCommand {
  std::vector<std::string> words;                // the first is the program
  std::map<std::string, std::string> variables;  // besides those of the environment there
  std::string output;                            // a file, to whose end stdout and stderr go
};

class HostAccess {
 public:
  virtual ~HostAccess() = default;
  // Error{kMissingResource} when it cannot be started, or the machine does not answer.
  virtual void start(const std::string& host, const DetachedCommand& command) = 0;
  // Of this job on this machine; nothing: the machine does not answer.
  [[nodiscard]] virtual std::optional<std::vector<JobProcess>> processes(
      const std::string& host, const std::string& job) = 0;
  // To those that are still there. False: the machine does not answer.
  virtual bool signal(const std::string& host, const std::vector<ProcessId>& processes,
                      int signal) = 0;
};

}  // namespace penstock
