// What a training run tells the person who waits for it, what it leaves in the log, and how it is
// stopped.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/io/run_log_file.h"
#include "cli/io/tensorboard_log.h"
#include "core/values/run_log.h"
#include "morphing/slow_ranks.h"
#include "report/slow_ranks_report.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/run_rank.h"

namespace penstock {

// Steps as they end: on a terminal a line that changes, else a line now and then.
class WatchedTraining : public StepObserver {
 public:
  // Where steps are written besides; empty: nowhere.
  struct Files {
    std::string log;            // a file
    std::string tensorboard;    // a folder
    std::string slow_machines;  // a file
  };
  // `plans`: the run's, the header's first.
  WatchedTraining(const RunHeader& header, PlanSequence plans, std::int64_t end_step,
                  const Files& files, const std::optional<SlowRule>& slow_rule = {});
  ~WatchedTraining() override;
  WatchedTraining(const WatchedTraining&) = delete;
  WatchedTraining& operator=(const WatchedTraining&) = delete;

  void step_finished(const MeasuredStep& step) override;
  void ranks_are_on(const std::vector<std::string>& hosts) override { slow_.hosts = hosts; }
  // A step of before this run, for the log, unless it is there.
  void add_if_missing(const MeasuredStep& step);

  // Without the times of single actions, which are in the log.
  [[nodiscard]] const RunLog& run() const { return run_; }
  // Where somebody watches for them: the ranks that are slow at the end.
  [[nodiscard]] const std::optional<SlowWatch>& watch() const { return watch_; }
  [[nodiscard]] const SlowRanks& slow_ranks() const { return slow_; }

 private:
  using Clock = std::chrono::steady_clock;

  void look_for_slow_ranks(const PlanFromStep& plan, const MeasuredStep& step);
  void tell(const std::string& line);
  void write_slow() const;

  RunLog run_;
  PlanSequence plans_;
  std::int64_t end_step_;
  std::optional<RunLogFile> log_;
  std::optional<TensorboardLog> tensorboard_;
  bool terminal_;
  bool line_is_open_ = false;
  Clock::time_point next_line_;
  std::optional<SlowRule> slow_rule_;
  std::optional<SlowWatch> watch_;  // of one plan
  std::string watched_plan_;        // its hash
  SlowRanks slow_;
  std::string slow_machines_;  // a file
};

// While it lives, SIGUSR1 ends the run after the step that is under way, with a checkpoint, and
// SIGUSR2 has a checkpoint written after it. It comes before anything else, since who starts a rank
// may ask it to end while it still reads its files.
class TrainingSignals : public RunControl {
 public:
  TrainingSignals();
  ~TrainingSignals() override;
  TrainingSignals(const TrainingSignals&) = delete;
  TrainingSignals& operator=(const TrainingSignals&) = delete;

  // From now on SIGINT and SIGTERM do the same; before, there is nothing to keep and they kill, and
  // so does the second of them.
  void keep_interrupts();
  RunRequest requested() override;
};

}  // namespace penstock
