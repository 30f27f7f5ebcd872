#include "cli/io/resume_run.h"

#include <fmt/format.h>

#include "core/values/error.h"
#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/resume.h"
#include "training/learning_rate.h"

namespace penstock {
namespace {

// The newest complete checkpoint.
Checkpoint checkpoint_to_resume(const TrainOptions& options,
                                const std::function<void(const std::string&)>& note) {
  const NewestCheckpoint newest = newest_checkpoint(options.checkpoint_folder);
  for (const std::string& what : newest.passed_over) note("skipped: " + what);
  if (!newest.checkpoint) {
    throw_bad_input("--resume: there is no complete checkpoint in " + options.checkpoint_folder +
                    "\nhelp: leave out --resume to begin at step 0");
  }
  return *newest.checkpoint;
}

}  // namespace

bool is_to_begin(const TrainOptions& options) {
  if (!options.resume_if_any) return false;
  const NewestCheckpoint newest = newest_checkpoint(options.checkpoint_folder);
  return !newest.checkpoint && newest.passed_over.empty();
}

void resume(TrainJob& job, const TrainSettings& settings,
            const std::function<void(const std::string&)>& note) {
  const Checkpoint checkpoint = checkpoint_to_resume(job.options, note);
  const CheckpointInfo& there = checkpoint.manifest.info;
  job.options.training = settings.training(there.options);
  const CheckpointInfo here =
      checkpoint_info(*job.plans.front().plan, job.plans.front().hash, job.options, job.data.file);
  for (const std::string& what : check_resumed(checkpoint, here, job.options.may_change)) {
    note(what);
  }
  job.first_step = there.step;
  job.resumes = true;
  job.kept_step = there.last_step;
  job.first_samples = there.samples;
  // Other data begin at their beginning.
  const bool same_data = there.data.checksum == here.data.checksum &&
                         there.data.bytes == here.data.bytes &&
                         there.sequence_length == here.sequence_length;
  job.first_taken = same_data ? there.data.taken : 0;
  if (job.first_step >= job.options.steps) {
    throw_bad_input(
        fmt::format("--steps: the checkpoint in {} is of step {} already, and the run "
                    "ends at step {}\nhelp: train for more steps",
                    job.options.checkpoint_folder, job.first_step, job.options.steps));
  }
  const std::string on_schedule = settings.note_on_schedule(job.options.training);
  if (!on_schedule.empty()) note(on_schedule);
  note(fmt::format("continuing at step {}", job.first_step));
}

MeasuredStep kept_step_of(const TrainJob& job) {
  const PlanFile& plan = *job.plans.front().plan;
  MeasuredStep step;
  step.step = job.first_step - 1;
  step.loss = job.kept_step->loss;
  step.gradient_norm = job.kept_step->gradient_norm;
  step.skipped = job.kept_step->skipped;
  step.tokens = std::int64_t{plan.plan.global_batch} * plan.plan.sequence_length;
  step.learning_rate = learning_rate_at(job.options.training, step.step);
  return step;
}

}  // namespace penstock
