// What a job and its planner tell each other through a store of plans.
//
// The job says what its steps take, so that this is said once and nothing of it can differ: rank 0
// writes a PlanJob when it begins, and again with every plan that it wants. The planner compares
// the files that both must have, plans, and says with a PlannerSign that it lives.
//
//   penstock:JOB:job        PlanJob, by rank 0
//   penstock:JOB:planner    PlannerSign, by the planner; its expiry is that of a heartbeat
//   penstock:JOB:plan:STEP  plan_message.h, by the planner
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct PlanJob {
  std::string run;  // of this start of the job: "pid 4711 on host a, start 81234567890123" by the
                    // steady clock
  std::string tool_version;

  // What both sides have of their own and must be the same: hashes.
  std::string layout, profile, cluster, documents;

  // How the planner is to plan, and which documents a step takes.
  std::int64_t tokens_per_batch = 0;
  std::uint64_t seed = 1;
  int longest = 0, pad_to = 8;
  std::int64_t replays = 200;
  std::vector<std::string> schedules;

  // Where this start of the job begins and ends: step `first_step` takes the documents from
  // `first_taken` on.
  std::int64_t first_step = 0, first_taken = 0, end_step = 0;
  int ahead = 2;            // steps that its ranks ask ahead
  std::int64_t wanted = 0;  // the last step that rank 0 asked for
  bool ended = false;       // it will ask for no more
  bool operator==(const PlanJob&) const = default;
};

// Of all that decides which plan a step gets, but for where the job begins, which the documents of
// every step show.
std::uint64_t fingerprint_of(const PlanJob& job);
std::string write_plan_job(const PlanJob& job);
// Error{kBadInput} for what is malformed.
PlanJob read_plan_job(const std::string& text, const std::string& source);

// Error{kBadInput} that names the first file in which `planner` differs from `job`.
void require_same_files(const PlanJob& job, const PlanJob& planner);

struct PlannerSign {
  std::string process;         // "pid 4711 on host a"
  std::string run;             // PlanJob::run that it plans for; empty: it waits for a job
  std::int64_t next_step = 0;  // all before it are planned
  std::string failure;         // why it ended; empty: it goes on
  bool operator==(const PlannerSign&) const = default;
};
std::string write_planner_sign(const PlannerSign& sign);
PlannerSign read_planner_sign(const std::string& text, const std::string& source);

// How long what is in the store lasts when nobody keeps it. That of the sign is long, so that it
// still says when the planner was last heard of: so long ago as its expiry has run down.
inline constexpr Duration kPlanLasts = std::chrono::hours(1);
inline constexpr Duration kSignLasts = std::chrono::hours(24);
inline constexpr Duration kJobLasts = std::chrono::hours(24);

// Error{kBadInput} unless it is letters, digits, dots, dashes and underscores.
void require_job_name(std::string_view option, const std::string& name);

class PlanKeys {
 public:
  explicit PlanKeys(const std::string& job) : prefix_("penstock:" + job + ":") {}
  [[nodiscard]] std::string job() const { return prefix_ + "job"; }
  [[nodiscard]] std::string planner() const { return prefix_ + "planner"; }
  [[nodiscard]] std::string plan(std::int64_t step) const {
    return prefix_ + "plan:" + std::to_string(step);
  }

 private:
  std::string prefix_;
};

}  // namespace penstock
