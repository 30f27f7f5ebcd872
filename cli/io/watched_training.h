// What a training run tells the person who waits for it, what it leaves in the log, and how it is
// stopped.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/io/run_log_file.h"
#include "cli/io/tensorboard_log.h"
#include "core/values/run_log.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/run_rank.h"

namespace penstock {

// Steps as they end: on a terminal a line that changes, else a line now and then.
class WatchedTraining : public StepObserver {
 public:
  // Where steps are written besides; empty: nowhere.
  struct Files {
    std::string log;          // a file
    std::string tensorboard;  // a folder
  };
  // `plans`: the run's, the header's first.
  WatchedTraining(const RunHeader& header, PlanSequence plans, std::int64_t end_step,
                  const Files& files);
  ~WatchedTraining() override;
  WatchedTraining(const WatchedTraining&) = delete;
  WatchedTraining& operator=(const WatchedTraining&) = delete;

  void step_finished(const MeasuredStep& step) override;

  // Without the times of single actions, which are in the log.
  [[nodiscard]] const RunLog& run() const { return run_; }

 private:
  using Clock = std::chrono::steady_clock;

  RunLog run_;
  PlanSequence plans_;
  std::int64_t end_step_;
  std::optional<RunLogFile> log_;
  std::optional<TensorboardLog> tensorboard_;
  bool terminal_;
  bool line_is_open_ = false;
  Clock::time_point next_line_;
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
