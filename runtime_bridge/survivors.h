// How the ranks that are left agree without the lost one: through the job's store. Each says where
// it stands; the lowest of them decides, and all others do as it says or nothing.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/values/units.h"
#include "runtime_bridge/last_step.h"
#include "training/key_value_store.h"

namespace penstock {

struct SurvivorOptions {
  int rank = 0, ranks = 1;
  std::set<int> lost;                          // ranks that are known to be lost already
  Duration silence = std::chrono::seconds(3);  // without a heartbeat, after which a rank is lost
  // For those that live and have not noticed the loss yet, and for the decision.
  Duration limit = std::chrono::seconds(60);
  Duration look_again = std::chrono::milliseconds(20);
};

// What else the one that decides looks at: a reason why the state of these ranks, at this step, is
// not worth a checkpoint or not the whole model; else empty.
using JudgeLastStep = std::function<std::string(const LastStep& last)>;

// First thing after a failure, before the rank tells by its heartbeat that it saw one: whoever says
// that and has no standing (it was changing its plan, say) is not waited for.
void tell_standing(KeyValueStore& store, int rank, const StepStanding& own);

// The same answer for every rank that is in its `ranks`; for others, and where time runs out, there
// is no step and `why_not` says so. TransportFailure when the store is gone.
//
// Two ranks may each take themselves for the lowest, when one of them was silent for a while. Each
// rank follows one of them, and neither's checkpoint becomes complete without all its ranks.
LastStep agree_on_last_step(KeyValueStore& store, const SurvivorOptions& options,
                            const StepStanding& own, const JudgeLastStep& judge);

// Whether survivors of the job are writing now, for the launcher that waits for them. They say when
// they begin and when they end, whatever came of it.
void say_saving(KeyValueStore& store, bool saving);
bool is_saving(KeyValueStore& store);

}  // namespace penstock
