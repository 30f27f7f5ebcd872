// Somebody who sees events come: a machine file, a cloud's notices, a port, signals.
#pragma once

#include <vector>

#include "manager/decision.h"
#include "manager/event.h"
#include "manager/job_state.h"

namespace penstock {

class EventSource {
 public:
  virtual ~EventSource() = default;
  // What has happened since; returns at once.
  virtual std::vector<Event> poll() = 0;
  // What was decided about an event of any source, after it was stored and its acts were carried
  // out. A port answers commands here and keeps `decision.next` to show it.
  virtual void decided(const Event& event, const JobDecision& decision) = 0;
  // When the manager starts, before the first poll().
  virtual void begin(const JobState& state) = 0;
};

}  // namespace penstock
