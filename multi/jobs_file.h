// penstock.jobs/1: the models that `penstock multi` puts on the same GPUs. docs/file_formats.md
// describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "multi/schedule_value.h"
#include "multi/unit_task.h"

namespace penstock {

// Unit executions of all jobs together: more are not replayed in a time that anybody waits.
inline constexpr std::int64_t kMostExecutions = 5'000'000;

// Of a plan that was measured, or that is known otherwise.
struct JobStepTime {
  int gpus = 1;
  Duration step{};
  bool operator==(const JobStepTime&) const = default;
};

// What there is to know of a job: a model to plan, a plan, a book of plans, times of steps, or
// units.
struct Job {
  std::string name;
  std::string model;                // path of a profile or a config.json; empty: none
  std::optional<int> global_batch;  // with a model
  std::optional<int> sequence_length;
  std::string book;                     // path of a penstock.book/1; empty: none
  std::string plan;                     // path of a penstock.plan/2, one rank or more; empty: none
  std::vector<std::string> train;       // with a plan: options of `penstock train` for it
  std::vector<JobStepTime> step_times;  // instead of predictions for as many GPUs; ascending
  std::vector<TaskUnit> units;          // of one step
  std::int64_t steps = 1;
  std::int64_t done_steps = 0;  // of these
  std::vector<int> running_on;  // GPUs on which it runs already, ascending; empty: it does not
  Wishes wishes;
  bool operator==(const Job&) const = default;
};

struct JobsFile {
  std::vector<Job> jobs;
  bool operator==(const JobsFile&) const = default;
};

// Relative paths stay as they are written: they count from where `multi` is called.
// Error{kBadInput} for everything malformed.
JobsFile read_jobs_file(const Json& json, const std::string& file);

}  // namespace penstock
