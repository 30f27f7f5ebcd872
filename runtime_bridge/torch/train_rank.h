// `penstock train`, put together: the ranks of a run on LibTorch, each a process or a thread, with
// their transport, heartbeats and checkpoints.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/values/plan_file.h"
#include "runtime_bridge/checkpoint_manifest.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/run_rank.h"
#include "runtime_bridge/surplus_rank.h"
#include "runtime_bridge/train_options.h"
#include "runtime_bridge/training_data.h"

namespace penstock {

struct TrainJob {
  PlanSequence plans;  // that passed require_one_run()
  TrainOptions options;
  TrainingData data;
  std::int64_t first_step = 0;
  bool resumes = false;  // the checkpoint of first_step is loaded
  // Of an emergency checkpoint: the log may lack this step.
  std::optional<CheckpointLastStep> kept_step{};
  std::int64_t first_samples = 0;  // that its run had seen
  std::int64_t first_taken = 0;    // of these data
  // Of documents: where the plan of every step comes from, for the layout of the first of `plans`.
  // Asked by all ranks that are threads.
  std::shared_ptr<ProgramSource> source{};
};

struct TrainHooks {
  StepObserver* observer = nullptr;  // told on rank 0
  RunControl* control = nullptr;     // asked on every rank
  // Something that the person who waits should know, one line. Any rank may call it, ranks that are
  // threads at the same time; none when empty.
  std::function<void(const std::string&)> note{};
  // With TrainOptions::between_failures: the time between two checkpoints, of which one makes
  // training stand still for `stall` and is on the disk after `write`.
  std::function<Duration(Duration stall, Duration write, Duration between_failures)> interval{};
};

// What can be known to be wrong before anything is read or started: a plan that ranks cannot carry
// out, plans that make no run together, Error{kMissingResource} for what this build or this machine
// lacks. Looks at plans and options only.
void check_training(const TrainJob& job);

// This process is one rank of the job. When another is lost, Error{kMissingResource} names it.
RunEnd train_rank(const TrainJob& job, const LaunchEnvironment& place, const TrainHooks& hooks);
// A rank of the job that the plan has no use for.
SurplusEnd stay_beside_ranks(const LaunchEnvironment& place, Duration time_out,
                             const SurplusRank& options);

// All ranks as threads of this process (TransportKind::kLoopback, and jobs of one rank).
RunEnd train_threads(const TrainJob& job, const TrainHooks& hooks);

// The store through which the ranks of a job find each other; for launch().
HostedStore serve_job_store();
// Whether its survivors are writing the last finished step, to this folder; likewise.
bool survivors_are_saving(const Environment& environment_of_rank, const std::string& checkpoints);
// Asks whether ranks of this one's job still work (ranks_alive.h); likewise.
std::function<bool()> whether_ranks_work(const Environment& environment_of_rank);

// "cpu", "NVIDIA H200"; "LibTorch 1.13.1"
std::string words_of_device(const std::string& device);
std::string library_words();

}  // namespace penstock
