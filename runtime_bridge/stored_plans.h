// The side of a rank: the plan of a step, from a store to which a planner writes.
//
// Every rank reads for itself. That a plan is the right one, the rank sees by itself, too: it is of
// its job's fingerprint and of the very documents that the step takes. What another job, or this
// one before it was changed, has left there is passed over until the planner has written anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime_bridge/plan_job.h"
#include "runtime_bridge/plan_store.h"
#include "runtime_bridge/plans_ahead.h"
#include "training/steady_time.h"

namespace penstock {

struct StoredPlansOptions {
  std::string name;        // of the job
  PlanJob job;             // as it begins
  bool announces = false;  // rank 0: tells the planner of the job, and how far it is
  Duration wait = std::chrono::seconds(30);         // for a plan
  Duration slice = std::chrono::milliseconds(250);  // after which it looks up
};

class StoredPlans {
 public:
  // fingerprint_of_documents() of a step.
  using Documents = std::function<std::uint64_t(std::int64_t step)>;
  // `layout`: layout_text() of the job's plan.
  StoredPlans(std::unique_ptr<PlanStore> store, StoredPlansOptions options, std::string layout,
              Documents documents);

  // Waits for it. May be asked by several threads, for ascending steps. Error{kMissingResource}
  // when the wait is over, which says what is known of planner and store; Error{kBadInput} for what
  // is damaged, and when the planner has failed, in its words.
  [[nodiscard]] PlannedStep plan(std::int64_t step);
  // The same; where it does not come in time, nothing and `why` that Error would say. After that no
  // later step is waited for until one is there again.
  [[nodiscard]] std::optional<PlannedStep> plan_if_there(std::int64_t step, std::string& why);

  // Who waits, waits no longer: the run ends.
  void stop() { stops_.store(true); }
  // The run has ended: nobody waits any longer, and the planner may end, too. Rank 0 only; tries
  // for two seconds.
  void end();
  // Waits until the store answers; Error{kMissingResource} when it does not in time.
  void require_store();

 private:
  [[nodiscard]] std::optional<PlannedStep> look(std::int64_t step, Duration slice);
  [[nodiscard]] std::optional<PlannedStep> accepted(std::int64_t step, const StoredValue& value);
  void announce();
  void look_for_failure();
  [[nodiscard]] std::string why_late(std::int64_t step, Duration waited);
  [[nodiscard]] std::string words_on_planner();

  std::mutex mutex_;
  const std::unique_ptr<PlanStore> store_;
  const StoredPlansOptions options_;
  const PlanKeys keys_;
  const std::string layout_;
  const Documents documents_;
  const std::uint64_t fingerprint_;
  PlanJob job_;
  std::optional<SteadyTime> announced_;  // nothing: what is there is out of date
  std::string passed_over_;              // of the key that is waited for: not this value again
  std::string foreign_;                  // why
  std::string trouble_;                  // of the store, when it was asked last
  std::string untold_;                   // why the planner does not know of the job
  bool was_late_ = false;
  std::atomic<bool> stops_{false};
};

}  // namespace penstock
