// Sees new checkpoints in the job's folder, whoever wrote them, and how long they took: from when
// the folder of a part was there until it was complete, as exactly as looks follow each other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manager/event_source.h"
#include "training/steady_time.h"

namespace penstock {

class CheckpointWatch final : public EventSource {
 public:
  explicit CheckpointWatch(std::string folder, std::function<SteadyTime()> clock = steady_now)
      : folder_(std::move(folder)), clock_(std::move(clock)) {}

  void begin(const JobState& state) override { newest_ = state.checkpoint_step; }
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  // Folders of unfinished ones: since when; nothing where the generation that made them has ended.
  using Parts = std::map<std::string, std::optional<SteadyTime>>;

  // Whether there is a complete one that was not there before.
  bool look(SteadyTime now, Parts& parts) const;
  [[nodiscard]] std::optional<Duration> took(std::int64_t step, SteadyTime now,
                                             const Parts& left) const;

  std::string folder_;
  std::function<SteadyTime()> clock_;
  std::int64_t newest_ = 0, generation_ = 0;
  Parts parts_;                       // at the last look
  std::optional<SteadyTime> looked_;  // when that was
};

}  // namespace penstock
