#include "runtime_bridge/torch/rank_checkpoints.h"

#include <string>
#include <utility>

#include "runtime_bridge/resume.h"
#include "runtime_bridge/torch/rank_device.h"

namespace penstock {

RankCheckpoints::RankCheckpoints(const TrainJob& job, Transport& transport,
                                 const std::string& attempt)
    : job_(job),
      info_(checkpoint_info(*job.plans.front().plan, job.plans.front().hash, job.options,
                            job.data.file)) {
  if (job.options.checkpoint_folder.empty()) return;
  CheckpointOptions options;
  options.folder = job.options.checkpoint_folder;
  options.rank = transport.rank();
  options.ranks = transport.size();
  options.attempt = attempt;
  options.keep = job.options.checkpoint_keep;
  writer_ = std::make_unique<CheckpointWriter>(options);
}

void RankCheckpoints::serve(StateHolder& holder) {
  holder_ = &holder;
  if (job_.resumes) load(holder);
}

void RankCheckpoints::load(StateHolder& holder) const {
  const Checkpoint checkpoint =
      open_checkpoint(job_.options.checkpoint_folder + "/" + checkpoint_name(job_.first_step));
  load_checkpoint(checkpoint, info_.model, holder.section_states(),
                  make_rank_copy(job_.options.device));
  holder.state_was_loaded(checkpoint.manifest.info.shared_numbers);
}

void RankCheckpoints::finish() {
  if (writer_) writer_->finish();
}

bool RankCheckpoints::is_due(std::int64_t next_step, bool last) {
  const std::int64_t every = job_.options.checkpoint_every;
  return writer_ != nullptr && (last || (every > 0 && next_step % every == 0));
}

void RankCheckpoints::write(std::int64_t next_step) {
  if (!writer_) return;
  info_.step = next_step;
  info_.plan_hash = plan_at(job_.plans, next_step - 1).hash;
  const std::int64_t seen = (next_step - job_.first_step) * info_.global_batch;
  info_.samples = job_.first_samples + seen;
  info_.data.taken = job_.first_taken + seen;
  info_.shared_numbers = holder_->shared_numbers();
  writer_->begin(info_, holder_->section_states(), make_rank_copy(job_.options.device));
}

// The thread of rank 0's writer does that, as soon as all ranks have written.
void RankCheckpoints::complete(std::int64_t /*next_step*/) {}

}  // namespace penstock
