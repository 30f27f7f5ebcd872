#include "runtime_bridge/torch/rank_checkpoints.h"

#include <string>
#include <utility>

#include "core/json.h"
#include "core/model_description.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/torch/rank_device.h"

namespace penstock {
namespace {

// What a checkpoint must agree with: the sections, not in which precision they are computed.
std::string words_of_model(const PlanFile& plan) {
  ModelDescription model = model_of(plan);
  model.precision = Precision::kFloat32;
  return to_text(write_description(model), 1 << 20);
}

}  // namespace

RankCheckpoints::RankCheckpoints(const TrainJob& job, Transport& transport,
                                 const std::string& attempt)
    : job_(job) {
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
  if (job_.first_step > 0 && !loaded_) load(holder);
  loaded_ = true;
}

void RankCheckpoints::load(StateHolder& holder) const {
  const Checkpoint checkpoint =
      open_checkpoint(job_.options.checkpoint_folder + "/" + checkpoint_name(job_.first_step));
  load_checkpoint(checkpoint, words_of_model(*job_.plan), holder.section_states(),
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
  CheckpointInfo info;
  info.step = next_step;
  info.model = words_of_model(*job_.plan);
  info.sections = static_cast<int>(job_.plan->section_names.size());
  info.plan_hash = job_.plan_hash;
  info.samples = next_step * job_.plan->plan.global_batch;
  info.options = job_.options.training;
  info.shared_numbers = holder_->shared_numbers();
  writer_->begin(info, holder_->section_states(), make_rank_copy(job_.options.device));
}

// The thread of rank 0's writer does that, as soon as all ranks have written.
void RankCheckpoints::complete(std::int64_t /*next_step*/) {}

}  // namespace penstock
