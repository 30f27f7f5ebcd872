// Kineto traces of a PyTorch pipelining run, read back into a run of a plan: the timed Program that
// `validate` compares with its prediction. PyTorch names the range of every action PP:<action>, as
// in its pipeline CSV. Traces hold much more; what is not looked for is passed over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/plan_file.h"
#include "core/values/run_log.h"

namespace penstock {

struct KinetoRange {
  std::string name;                 // as in the trace, "PP:2F0"
  std::int64_t start = 0, end = 0;  // nanoseconds of the trace's clock
  int step = -1;                    // position in KinetoTrace::steps; -1: outside all of them
  bool operator==(const KinetoRange&) const = default;
};

// "ProfilerStep#7"
struct KinetoStep {
  std::int64_t number = 0;
  std::int64_t start = 0, end = 0;
  bool operator==(const KinetoStep&) const = default;
};

struct KinetoTrace {
  std::string file;
  int rank = 0;                   // of the job
  std::string backend;            // "nccl", "gloo"; empty where the trace does not say
  std::string device;             // name of the first one; empty on CPUs
  int world_size = 0;             // 0 where the trace does not say
  std::vector<KinetoStep> steps;  // ascending; of a trace without such ranges made up from its
                                  // actions, each of which occurs once per step
  bool has_step_ranges = false;
  std::vector<KinetoRange> actions;  // ascending start
  bool operator==(const KinetoTrace&) const = default;
};

// The time of an action is that of its GPU range; without one, from the first to the last of the
// kernels that its CPU range launched; on CPUs that of the CPU range. Error{kBadInput} for what is
// no such trace, and for one without any action.
KinetoTrace read_kineto_trace(const Json& json, const std::string& file);

struct KinetoRun {
  RunLog log;
  std::vector<std::string> notes;  // what does not fit the plan, in words; none when all does
};

// The steps that all traces hold. A rank is told by the stages it ran, so the trainer may number
// ranks in another order than the plan. Of different hosts the clocks are set so that nothing
// arrives before it was computed. Error{kBadInput} when the traces are not of this plan.
KinetoRun run_of_kineto(const PlanFile& plan, const std::string& plan_path,
                        const std::vector<KinetoTrace>& traces);

}  // namespace penstock
