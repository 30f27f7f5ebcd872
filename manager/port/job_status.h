// What people and monitoring are shown of a job: made of the manager's state and of what it has
// seen since it began; the same whether a manager answers or its run folder is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "manager/decision.h"
#include "manager/job_state.h"

namespace penstock {

// What a state does not hold.
struct JobSeen {
  std::int64_t steps = 0;            // that the job is to do
  std::int64_t tokens_per_step = 0;  // 0: unknown
  std::string plan{};                // of the generation, in words
  std::optional<UtcTime> checkpoint_at{};
  // Since this manager began, by phase; empty where none runs.
  std::map<std::string, Duration> in_phase{};
  Duration productive{};              // of the steps that were not done before
  std::vector<LogEntry> decisions{};  // the last ones, newest last
};

struct MachineStatus {
  std::string name{};
  int gpus = 0;
  std::vector<int> ranks{};
  std::string condition{};  // "in use", "idle", "leaves", "slow"
  std::optional<UtcTime> gone_by{};
  double slow_factor = 1.0;
  std::string device{};  // its type, if it is known
  bool operator==(const MachineStatus&) const = default;
};

struct JobStatus {
  std::string job{}, phase{}, why{}, plan{};
  UtcTime at{};
  std::int64_t generation = 0, step = 0, steps = 0;
  int gpus_present = 0, gpus_used = 0;
  std::optional<double> loss{}, tokens_per_s{};
  std::optional<Duration> step_time{}, predicted_step{};
  std::optional<UtcTime> next_step_at{};  // expected, between two generations
  std::int64_t checkpoint_step = 0;
  std::optional<UtcTime> checkpoint_at{};
  std::int64_t restarts = 0, lost_steps = 0, failures = 0;
  std::map<std::string, Duration> in_phase{};
  std::optional<double> goodput{};  // share of the time in which steps were done for the first time
  std::vector<MachineStatus> machines{};
  std::vector<LogEntry> decisions{};
  bool operator==(const JobStatus&) const = default;
};

JobStatus job_status(const JobState& state, const JobSeen& seen, UtcTime now);

Json write_job_status(const JobStatus& status);
// Error{kBadInput} for anything malformed.
JobStatus read_job_status(const Json& json, const std::string& file);

}  // namespace penstock
