// The options of `penstock train`, as declared and as read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/document_options.h"
#include "cli/options/optimizer_settings.h"
#include "cli/options/options.h"
#include "cli/options/slow_watch_options.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/rank_devices.h"
#include "runtime_bridge/train_options.h"
#include "training/virtual_work.h"

namespace penstock {

class TrainSettings {
 public:
  void declare(Options& options);

  // Error{kBadInput} for values that make no sense, alone or together, and for what the run would
  // not look at.
  [[nodiscard]] TrainOptions train_options() const;
  // What was given of them, the rest from `otherwise`: the defaults, or a checkpoint.
  // Error{kBadInput} for what makes no sense together.
  [[nodiscard]] TrainingOptions training(const TrainingOptions& otherwise) const;
  // Error{kBadInput} for numbers of another optimizer than the model's.
  void require_optimizer(OptimizerKind kind) const { optimizer_.require_optimizer(kind); }
  // What a person should know of a schedule that a checkpoint brought along; else empty.
  [[nodiscard]] std::string note_on_schedule(const TrainingOptions& resumed) const {
    return optimizer_.note_on_schedule(resumed, steps());
  }
  [[nodiscard]] LaunchFlags launch_flags() const;
  // Of a job on several device types, in the launcher's order; empty: nobody said.
  [[nodiscard]] RanksOfTypes ranks_of_types() const;
  // After how many steps another plan runs, ascending.
  struct LaterPlan {
    std::int64_t first_step = 0;
    std::string path;
  };
  [[nodiscard]] std::vector<LaterPlan> later_plans() const;
  // Ranks that sleep what the plan says, by how much it is stretched.
  [[nodiscard]] bool sleeps() const { return virtual_; }
  [[nodiscard]] std::int64_t stretch() const;
  // On a clock that jumps from event to event.
  [[nodiscard]] bool jumps() const;
  // A file of jobs instead of a plan, where their files go, and the ranks that they share.
  // Error{kBadInput} for options that each job has itself.
  [[nodiscard]] const std::optional<std::string>& jobs() const { return jobs_; }
  [[nodiscard]] std::string jobs_folder() const { return jobs_folder_.value_or("jobs"); }
  [[nodiscard]] int ranks_of_jobs() const;
  // Whether the plan must be a spilled one.
  [[nodiscard]] bool spills() const { return spill_; }
  // By rank of the job.
  [[nodiscard]] std::map<int, VirtualSlowness> slow_ranks_to_try() const;
  // Whether somebody looks for slow ranks, and where their machines go.
  [[nodiscard]] const SlowWatchOptions& slow_watch() const { return slow_watch_; }
  // Samples of different lengths, where there are any.
  [[nodiscard]] const DocumentOptions& documents() const { return documents_; }

  // Of runs whose ranks are all in this process, in an environment that says that it is one of
  // several.
  void refuse_other_ranks(const std::optional<LaunchEnvironment>& place) const;
  // Of ranks that sleep, where no book is asked for the plan of so many.
  void refuse_number_of_ranks() const;

 private:
  void refuse_for_ranks_that_sleep() const;
  void refuse_for_threads() const;
  void refuse_for_gpus() const;
  void refuse_without_checkpoints() const;
  void read_checkpoint_interval(TrainOptions& options) const;

  [[nodiscard]] DataOptions data() const;
  [[nodiscard]] EvaluationOptions evaluation() const;
  [[nodiscard]] TrainingOptions merged(const TrainingOptions& otherwise) const;
  [[nodiscard]] int steps() const;
  [[nodiscard]] bool resumes() const { return resume_ || resume_if_any_; }

  OptimizerSettings optimizer_;
  DocumentOptions documents_;
  std::vector<std::string> given_;  // names of options
  std::vector<std::string> data_, labels_, validation_data_, validation_labels_;
  std::optional<std::string> tensorboard_, validation_fraction_, eval_every_, eval_batches_;
  std::optional<std::string> dtype_, steps_, seed_;
  std::optional<std::string> transport_, device_, threads_, time_out_, log_;
  std::optional<std::string> checkpoints_, checkpoint_every_, checkpoint_keep_, may_change_;
  std::optional<std::string> between_failures_, host_bandwidth_, pilot_, jobs_, jobs_folder_;
  std::optional<std::string> rank_, ranks_, ranks_of_, local_rank_, master_, stretch_;
  std::vector<std::string> then_, slow_;
  SlowWatchOptions slow_watch_;
  bool timeline_ = false, resume_ = false, resume_if_any_ = false, no_pinning_ = false,
       virtual_ = false;
  bool no_sleep_ = false, mirror_ = false, spill_ = false;
};

}  // namespace penstock
