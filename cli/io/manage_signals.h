// Signals to a manager as a source of events: SIGUSR1 asks for a checkpoint, SIGTERM and SIGINT for
// the job to stop with one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "manager/event_source.h"

namespace penstock {

class ManageSignals final : public EventSource {
 public:
  explicit ManageSignals(std::function<UtcTime()> clock);
  ManageSignals(const ManageSignals&) = delete;
  ManageSignals& operator=(const ManageSignals&) = delete;
  ~ManageSignals() override;

  void begin(const JobState& state) override;
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  std::function<UtcTime()> clock_;
};

}  // namespace penstock
