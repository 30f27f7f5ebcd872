// The log of a run on disk, a line per step, each there as soon as its step has ended.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "core/values/run_log.h"

namespace penstock {

class RunLogFile {
 public:
  // A run that begins at step 0 makes the file anew. One that resumes keeps what the file says of
  // the steps before; Error{kBadInput} when those are of another plan. Error{kMissingResource} when
  // it cannot be written.
  RunLogFile(const std::string& path, const RunHeader& header);

  void add(const MeasuredStep& step);

 private:
  void write_line(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace penstock
