// The ranks of a job, wherever they run: the manager's hands. All calls return at once; what comes
// of them is reported by poll().
#pragma once

#include <vector>

#include "manager/decision.h"
#include "manager/event.h"
#include "manager/job_state.h"

namespace penstock {

class RankProcesses {
 public:
  virtual ~RankProcesses() = default;
  // Both may be given twice, and after a manager was killed in the midst of them. A rank that
  // cannot be started is reported as RankEnded.
  virtual void start(const StartRanks& what) = 0;
  virtual void signal(const SignalRanks& what) = 0;
  // A new manager takes over: looks for the ranks of state.generation, and reports those that it
  // does not find alive as RankEnded, with their exit code if they left it.
  virtual void adopt(const JobState& state) = 0;
  // What has happened since: RanksReady, RankEnded (once for every rank), StepFinished,
  // CheckpointWritten.
  virtual std::vector<Event> poll() = 0;
};

}  // namespace penstock
