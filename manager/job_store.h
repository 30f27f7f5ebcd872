// The state of a job and the log of its decisions, in one SQLite file. What was kept survives a
// manager that is killed at any instant; a second manager of the same job is refused.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/decision.h"
#include "manager/job_state.h"

namespace penstock {

class JobStore {
 public:
  // Makes the file when it is not there. Error{kMissingResource} when it cannot be opened, or when
  // another manager has it.
  explicit JobStore(const std::string& path);
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;
  ~JobStore();

  // What was kept last; nothing in a new file.
  [[nodiscard]] std::optional<JobState> state() const;
  // Acts of the last decision that nobody has reported as done: to be carried out (again).
  [[nodiscard]] std::vector<Act> acts_to_do() const;
  [[nodiscard]] std::vector<LogEntry> log(std::size_t newest) const;

  // State, acts to do and log lines, all or nothing, and on the disk when this returns. Otherwise
  // why not, as for a full disk: then nothing has changed, and it may be tried again.
  [[nodiscard]] std::optional<std::string> keep(const JobDecision& decision);
  // The acts have been carried out. If that cannot be kept they are only carried out twice.
  void acts_done();

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace penstock
