// Sees new checkpoints in the job's folder, whoever wrote them.
#pragma once

#include <string>
#include <vector>

#include "manager/event_source.h"

namespace penstock {

class CheckpointWatch final : public EventSource {
 public:
  explicit CheckpointWatch(std::string folder) : folder_(std::move(folder)) {}

  void begin(const JobState& state) override { newest_ = state.checkpoint_step; }
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  std::string folder_;
  std::int64_t newest_ = 0, generation_ = 0;
};

}  // namespace penstock
