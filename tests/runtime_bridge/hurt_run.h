// Runs of the ring model in which a rank is lost at a chosen moment, and what the survivors keep.
//
// A rank that is lost leaves without a word, and its transport with it. Moments: before each action
// of its list, and after each wait of a transfer, the step's barrier and the exchange behind it
// included. A second kind of accident decides who sees the norm: one rank's wait fails although the
// transfer has ended for all others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime_bridge/emergency_checkpoint.h"
#include "tests/runtime_bridge/ring_plans.h"
#include "tests/runtime_bridge/ring_work.h"

namespace penstock::testing {

inline constexpr std::int64_t kHurtStep = 2, kEndStep = 4;
inline constexpr int kNever = -1;

struct Accident {
  int lost = 0;                // the rank that leaves
  int before_action = kNever;  // of kHurtStep
  int after_wait = kNever;     // counted from the barrier of kHurtStep on
  bool at_end = false;         // behind the last step, while the last checkpoint is written
  int deaf = kNever;           // a rank whose wait number deaf_wait fails
  int deaf_wait = kNever;
};

class Losses : public StepObserver {
 public:
  void step_finished(const MeasuredStep& step) override { losses.emplace(step.step, step.loss); }
  std::map<std::int64_t, double> losses;
};

// What the survivors' parts say together, and what each rank decided.
struct Kept {
  std::map<int, EmergencyEnd> ends;                      // by rank
  std::map<std::pair<int, std::string>, Numbers> state;  // by section and name
  int pieces_twice = 0;                                  // written by two ranks
  std::int64_t most_finished = 0;                        // steps, of any rank
  Losses observed;
  std::vector<int> waits;  // [rank]: how many there were
};

// kEndStep steps of the plan, with the accident. `mirror`: with copies in memory (mirror.h).
Kept hurt_run(const RingModel& model, const PlanFile& plan, const Accident& accident,
              bool mirror = false);

// A plan, and what a plain loop makes of its steps.
struct Example {
  RingModel model;
  PlanFile plan;
  std::vector<RingWeights> after;  // [finished steps]
  std::vector<double> losses;      // [step]
};
Example example_of(const RingModel& model, const PlanFile& plan);
// Four sections under a schedule.
struct Named {
  const char* schedule;
  RingShape shape;
  bool tied;
  bool zero1 = false;
};
Example example_of(const Named& named);

// The state of `next_step` finished steps, all of it, once.
void check_state(const Example& example, const Kept& kept, std::int64_t next_step);
// Every survivor says the same, and no step that any rank has finished is lost. Returns the steps
// that are kept.
std::int64_t check_kept(const Example& example, const Accident& accident, const Kept& kept);

// Every rank is lost at every place, one run per place; what is kept is checked. Returns the steps
// that are kept.
std::set<std::int64_t> lost_before_any_action(const Example& example, bool mirror);
void lost_after_any_wait(const Example& example, bool mirror);
// Behind the last step, which all have finished then.
void lost_at_the_end(const Example& example, bool mirror);

}  // namespace penstock::testing
