#include "runtime_bridge/torch/timed_checkpoints.h"

namespace penstock {

RunRequest TimedCheckpoints::requested() {
  const RunRequest asked = control_ != nullptr ? control_->requested() : RunRequest::kGoOn;
  if (asked != RunRequest::kGoOn) return asked;
  if (last_ && !is_time()) return RunRequest::kGoOn;
  last_ = steady_now();
  return RunRequest::kCheckpoint;
}

bool TimedCheckpoints::is_time() {
  const std::optional<CheckpointWriter::Cost> cost = checkpoints_.cost();
  if (!cost) return false;
  const Duration interval = interval_(*cost);
  if (!std::exchange(has_told_, true) && note_) {
    note_("a checkpoint stops training for " + to_text(cost->stall) + " and takes " +
          to_text(cost->write) + ": one every " + to_text(interval));
  }
  return steady_now() - *last_ >= interval;
}

}  // namespace penstock
