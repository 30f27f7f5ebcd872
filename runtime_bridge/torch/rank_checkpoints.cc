// When a rank writes checkpoints, what stands in them, and what a run resumes from.
//
// A checkpoint is written by a thread of its own while the next steps run; before the next one
// begins, the last is waited for. A checkpoint that cannot be written (a full disk) is a note and
// not the end of the run; only the last one must succeed.
//
// Rank 0 cannot complete a checkpoint without the parts of all ranks. So whoever waits for one
// looks at the heartbeats meanwhile, and no rank ends before the last one is complete: until then
// those that are left may need each other for an emergency checkpoint.
//
// A damaged checkpoint is set aside under another name and ends the run on all ranks, so that the
// same command goes on from the one before.
#include "runtime_bridge/torch/rank_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/resume.h"
#include "runtime_bridge/torch/rank_device.h"

namespace penstock {

RankCheckpoints::RankCheckpoints(const TrainJob& job, Transport& transport,
                                 const std::string& attempt, RanksWriting others,
                                 std::function<void(const std::string&)> note)
    : job_(job),
      others_(std::move(others)),
      note_(std::move(note)),
      info_(checkpoint_info(*job.plans.front().plan, job.plans.front().hash, job.options,
                            job.data.file)) {
  if (job.options.checkpoint_folder.empty()) return;
  options_.folder = job.options.checkpoint_folder;
  options_.rank = transport.rank();
  options_.ranks = transport.size();
  options_.attempt = attempt;
  options_.keep = job.options.checkpoint_keep;
  writer_ = std::make_unique<CheckpointWriter>(options_);
}

void RankCheckpoints::serve(StateHolder& holder) {
  holder_ = &holder;
  if (job_.resumes) load(holder);
}

// Of a damaged one the run ends, on all ranks: started again it goes on from the one before.
void RankCheckpoints::load(StateHolder& holder) const {
  const std::string path = job_.options.checkpoint_folder + "/" + checkpoint_name(job_.first_step);
  try {
    const Checkpoint checkpoint = open_checkpoint(path);
    load_checkpoint(checkpoint, info_.model, holder.section_states(),
                    make_rank_copy(job_.options.device));
    holder.state_was_loaded(checkpoint.manifest.info.shared_numbers);
  } catch (const DamagedCheckpoint& damage) {
    throw DamagedCheckpoint(std::string(damage.what()) + "; the checkpoint was set aside as " +
                            set_aside(path) +
                            "\nhelp: the same command continues from the one "
                            "before it");
  } catch (const Error&) {
    if (!was_set_aside(path)) throw;
    throw DamagedCheckpoint(path +
                            ": another rank found it damaged and set it aside\nhelp: the "
                            "same command continues from the one before it");
  }
}

void RankCheckpoints::wait_for_writer(const std::string& what) {
  if (writer_->has_ended() || !others_.while_they_live) return;
  others_.while_they_live(what, [this] { return writer_->has_ended(); });
}

void RankCheckpoints::finish_last() {
  if (!writer_) return;
  const std::string what = "the last checkpoint was complete";
  wait_for_writer(what);
  writer_->finish();
  if (!others_.while_they_live) return;
  if (options_.rank == 0) {
    others_.say_complete();
  } else {
    others_.while_they_live(what, others_.is_complete);
  }
}

void RankCheckpoints::finish() {
  if (writer_) writer_->finish();
}

// A full disk is no reason to stop computing: those that are complete stay, and the next one is
// tried when it is due.
void RankCheckpoints::settle() {
  wait_for_writer("the checkpoint of step " + std::to_string(info_.step) + " was complete");
  try {
    writer_->finish();
  } catch (const Error& error) {
    if (options_.rank == 0 && note_) {
      note_("the checkpoint of step " + std::to_string(info_.step) +
            " was not written: " + error.what() +
            "\nnote: the run continues; checkpoints before it stay, and the next is " +
            "tried when it is due");
    }
  }
}

bool RankCheckpoints::is_due(std::int64_t next_step, bool last) {
  if (writer_ == nullptr) return false;
  if (writer_->has_ended()) settle();
  const std::int64_t every = job_.options.checkpoint_every;
  return last || (every > 0 && next_step % every == 0);
}

void RankCheckpoints::write(std::int64_t next_step) {
  if (!writer_) return;
  settle();
  describe(next_step);
  writer_->begin(info_, holder_->section_states(), make_rank_copy(job_.options.device));
}

void RankCheckpoints::describe(std::int64_t next_step) {
  info_.step = next_step;
  info_.plan_hash = plan_at(job_.plans, next_step - 1).hash;
  const std::int64_t seen = job_.data.documents != nullptr
                                ? job_.data.documents->taken_before(next_step) - job_.first_taken
                                : (next_step - job_.first_step) * info_.global_batch;
  info_.samples = job_.first_samples + seen;
  info_.data.taken = job_.first_taken + seen;
  info_.shared_numbers = holder_->shared_numbers();
}

void RankCheckpoints::describe_last(const LastStep& last) {
  describe(last.next_step);
  if (!last.norm || !std::isfinite(last.norm->loss) || !std::isfinite(last.norm->squared_norm)) {
    return;
  }
  const bool skipped = last.norm->not_finite > 0;
  info_.last_step = {last.norm->loss, skipped ? 0.0 : std::sqrt(last.norm->squared_norm), skipped};
}

CheckpointOptions RankCheckpoints::options_of_survivor(const LastStep& last) {
  CheckpointOptions options = options_;
  options.rank =
      static_cast<int>(std::ranges::find(last.ranks, options_.rank) - last.ranks.begin());
  options.ranks = static_cast<int>(last.ranks.size());
  options.attempt += "-emergency-" + std::to_string(last.ranks.front());
  if (others_.watch_survivors) {
    options.works = [works = others_.watch_survivors(), ranks = last.ranks](int index) {
      return works(ranks.at(static_cast<std::size_t>(index)));
    };
  }
  return options;
}

void RankCheckpoints::write_last(const LastStep& last, const std::vector<SectionState>& states) {
  writer_->give_up();
  describe_last(last);
  CheckpointWriter writer(options_of_survivor(last));
  writer.begin(info_, states, make_rank_copy(job_.options.device));
  writer.finish();
}

void RankCheckpoints::write_mirrored(const LastStep& last, const MirroredParts& parts) {
  writer_->give_up();
  describe_last(last);
  info_.shared_numbers = parts.shared_numbers;
  CheckpointWriter writer(options_of_survivor(last));
  writer.begin(info_, parts.files);
  writer.finish();
}

std::optional<CheckpointWriter::Cost> RankCheckpoints::cost() {
  return writer_ ? writer_->cost() : std::nullopt;
}

}  // namespace penstock
