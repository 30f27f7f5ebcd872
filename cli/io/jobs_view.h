// What a person sees of several jobs while they train: on a terminal a line per job that changes,
// elsewhere a line when a job starts or ends, and now and then one per job that runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/units.h"
#include "runtime_bridge/run_jobs.h"

namespace penstock {

// How far a job has come, as its log says.
struct JobProgress {
  std::int64_t steps = 0;  // done
  std::optional<double> loss;
  Duration in_steps{};  // of those of this run
  bool operator==(const JobProgress&) const = default;
};
// From a log that is being written; nothing done where there is none yet.
JobProgress read_progress(const std::string& log);

struct ViewedJob {
  std::string name, log;
  std::int64_t steps = 1;
  std::vector<int> ranks;
};

// "warm   rank 0    12 of 50 steps   loss 2.3145   about 3.2 s left"
std::string job_line(const ViewedJob& job, const JobProgress& progress, const std::string& state);

class JobsView : public JobsObserver {
 public:
  explicit JobsView(std::vector<ViewedJob> jobs);
  void job_started(std::size_t job) override;
  void job_ended(std::size_t job, const JobEnd& end) override;
  void time_passed() override;

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  [[nodiscard]] std::string line_of(std::size_t job) const;

  std::vector<ViewedJob> jobs_;
  std::vector<std::string> states_;  // "waits", "runs", "done", ...
  bool terminal_;
  bool is_drawn_ = false;
  Clock::time_point next_;
};

// "failed: exit code 3", "ended by signal 9 (Killed)", "done".
std::string words_of(const JobEnd& end);

}  // namespace penstock
