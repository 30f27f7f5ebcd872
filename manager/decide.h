// The manager's mind: what to do about one event. A pure function, so that years of misfortune can
// be tried in a test, and a manager that was killed goes on from the state that it stored.
#pragma once

#include <string>
#include <vector>

#include "manager/decision.h"
#include "manager/event.h"
#include "manager/job_file.h"
#include "manager/job_state.h"
#include "manager/plan_page.h"
#include "manager/utc_time.h"

namespace penstock {

// What does not change while a job lives.
struct JobRules {
  JobFile job;
  std::vector<PlanPage> pages;       // of the book, ascending by GPUs; one at least
  std::vector<std::string> types{};  // of devices, where the book counts them
  Duration write{};                  // of a checkpoint, until it is measured
  int processors = 0;                // of the one machine on which all ranks run; 0: of several
  bool advised = false;              // SlowAdvised follows when ranks are found to be slow
};

// Of a job that was never seen before. `token`: which its ranks share.
JobState first_state(const JobRules& rules, const std::string& token, UtcTime now);

// Of a job that had stopped, or failed, and is managed anew; others stay as they are.
JobState reopened(JobState state);

// `now` never runs backwards by more than the system's clock does; a deadline that has passed is
// acted on at once. Acts belong to next.generation. `more`: events follow that were seen in the
// same look, perhaps further machines, so that no ranks are started before the last of them.
JobDecision decide(const JobRules& rules, const JobState& state, const Event& event, UtcTime now,
                   bool more = false);

}  // namespace penstock
