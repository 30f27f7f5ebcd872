// The log of another trainer (Megatron-LM, torchtitan), read into measured steps of a plan: what
// `validate` compares and `calibrate` fits to. Logs hold step times and memory, no actions, and
// name no plan; what they do say of the job must be what the plan says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/run_log.h"

namespace penstock {

struct TrainerRow;

// By the lines that report a step; null when there is none.
const TrainerRow* trainer_of_log(std::string_view text);

// What the allocator of a rank held at most, as far as the log goes.
struct LoggedMemory {
  int rank = -1;                   // of the job; -1: the log does not say
  std::optional<Bytes> allocated;  // torchtitan logs only what is reserved
  Bytes reserved;                  // with what the allocator keeps free
  bool operator==(const LoggedMemory&) const = default;
};

struct LogOptions {
  int warm_up = 3;        // steps at the beginning, and after every restart, that do not count
  bool any_plan = false;  // also where the log says another batch or another layout
};

struct LoggedRun {
  // Without the warm-up. A line that is the mean of several steps stands there that many times.
  RunLog log;
  std::int64_t warm_up_steps = 0;  // that were left out
  std::int64_t interval = 1;       // steps per line
  std::vector<LoggedMemory> memory;
  std::vector<std::string> notes;  // sentences: what was left out, what a time was derived from
};

// torchtitan logs tokens per second and GPU, rounded to whole ones: the step time is the plan's
// tokens per step over that and all of its GPUs. Of several ranks the slowest counts. Error
// {kBadInput} when nothing is left, or the log is one of another job.
LoggedRun run_of_log(std::string_view text, const std::string& file, const PlanFile& plan,
                     const LogOptions& options);

// The layout that ran, as far as the log of Megatron-LM lists its arguments: degrees, batch,
// sharding of the optimizer, recompute; no cuts. A micro-batch that it does not list is one sample.
struct LoggedJob {
  Plan plan;
  Duration step_time;  // the median after the warm-up
};
// Nothing where a degree or the batch is missing. Error{kBadInput} where no step counts.
std::optional<LoggedJob> job_of_log(std::string_view text, const std::string& file);

// What a log of step times says without its layout. Nothing of other logs; Error{kBadInput} where
// no step counts.
struct LoggedStep {
  Duration step_time;      // the median after the warm-up
  std::int64_t batch = 0;  // samples; 0: not said
};
std::optional<LoggedStep> step_of_log(std::string_view text, const std::string& file);

}  // namespace penstock
