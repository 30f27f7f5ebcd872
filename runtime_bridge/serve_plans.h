// The side of a planner: plans the steps of a job ahead of it and leaves them in a store, from the
// moment when the job says where it begins until it says that it has ended.
//
// What ranks may still ask for is kept here, too. Twice a second the planner asks the store to keep
// it as well, and writes again what is not there: a store that restarts empty has everything back
// within a second, and nobody has to notice that it did. A job that begins again (run differs) is
// planned for from where it begins; plans are a function of the step, so that what was left from
// before is overwritten by the same. What the store has of a job when the planner begins may be
// left of one that died: what is wrong with it ends the planner only once the job has asked again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime_bridge/plan_job.h"
#include "runtime_bridge/plan_store.h"
#include "runtime_bridge/plans_ahead.h"

namespace penstock {

// Which step is to be planned next, and which ones a store should have. Pure bookkeeping.
class PlannerBook {
 public:
  // `ahead`: of the last step that the job asked for.
  explicit PlannerBook(int ahead) : ahead_(ahead) {}

  // What the job says. True: a job begins that it did not know, or goes on elsewhere than expected;
  // what was to come is planned from next() on.
  bool hear(const PlanJob& job);
  // Nothing: the job is far enough behind, or has ended.
  [[nodiscard]] std::optional<std::int64_t> next() const;
  // The step has been planned; `bytes` are to be written. False: the job has begun again meanwhile,
  // and nobody wants it.
  bool planned(std::int64_t step, std::string bytes);
  [[nodiscard]] std::int64_t next_step() const { return next_; }

  struct Kept {
    std::string bytes;
    bool is_written = false;  // as far as is known
  };
  [[nodiscard]] std::map<std::int64_t, Kept>& kept() { return kept_; }
  // Steps that no rank asks for any more; forgets them.
  [[nodiscard]] std::vector<std::int64_t> take_used();

 private:
  // The first step that some rank may still want: ranks are at most one step apart.
  [[nodiscard]] std::int64_t first_needed() const;

  int ahead_;
  std::optional<PlanJob> job_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, Kept> kept_;
  std::vector<std::int64_t> used_;
};

struct ServedStep {
  PlannedStep planned;
  std::uint64_t documents = 0;  // fingerprint_of_documents()
};
// Plans of one start of a job. plan() may be asked by several threads.
class JobPlans {
 public:
  virtual ~JobPlans() = default;
  [[nodiscard]] virtual ServedStep plan(std::int64_t step) const = 0;
};

struct ServePlansOptions {
  std::string name;     // of the job
  std::string process;  // "pid 4711 on host a"
  std::string layout;   // layout_text()
  int ahead = 8, threads = 1;
  Duration time_out = std::chrono::minutes(1);  // without a store
  Duration idle = std::chrono::hours(1);        // in which the job asks for nothing
  Duration beat = std::chrono::milliseconds(500);
};

struct ServePlansHooks {
  std::function<std::unique_ptr<PlanStore>()> open;  // one for each of its threads, and for its end
  // Error where the files are not those of the job.
  std::function<std::unique_ptr<JobPlans>(const PlanJob& job)> begin;
  std::function<void(const std::string& words)> note;  // by one thread at a time
  std::function<bool()> is_stopped;
};

struct ServedPlans {
  std::int64_t plans = 0, written_again = 0, starts = 0;  // starts of the job
  std::int64_t next_step = 0;                             // all before it are planned
  Bytes bytes{};                                          // of all plans
  Duration planning{};                                    // of a processor
  bool stopped = false;                                   // on request
};

// Returns when the job has ended or the planner is asked to stop. Error{kMissingResource} when the
// store does not answer or is full for the time-out, or the job asks for nothing for so long; what
// plans() and begin() throw goes on, after the ranks have been told.
ServedPlans serve_plans(const ServePlansOptions& options, const ServePlansHooks& hooks);

}  // namespace penstock
