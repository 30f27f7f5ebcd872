// The log of a run on disk, a line per step, each there as soon as its step has ended.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "core/values/run_log.h"

namespace penstock {

class RunLogFile {
 public:
  // A run that begins at step 0 makes the file anew. One that resumes keeps what the file says of
  // the steps before; where those are of another plan, its own steps name theirs.
  // Error{kMissingResource} when it cannot be written.
  RunLogFile(const std::string& path, const RunHeader& header);

  void add(const MeasuredStep& step);
  // That the file has; -1 before there is one.
  [[nodiscard]] std::int64_t last_step() const { return last_step_; }

 private:
  void write_line(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::string plan_, plan_hash_;  // of the run, where the file's header says another
  std::int64_t last_step_ = -1;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace penstock
