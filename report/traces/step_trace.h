// One training step as viewers show it: per rank slices on lanes, sends that point at what they
// feed, and memory over time. Made from a prediction or from a measured step; the writers of
// Perfetto's and Kineto's files need nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/run_log.h"
#include "core/values/timeline.h"

namespace penstock {

enum class TraceLane { kCompute, kSends, kCollectives, kLoads, kStores };
[[nodiscard]] const char* name_of(TraceLane lane);  // "compute", "loads"

struct TraceSlice {
  std::string name;  // "0F3", "1SEND_F0"; a pair that ran as one: "(0F7;7B3)OVERLAP_F_B"
  ActionKind kind = ActionKind::kForward;
  TraceLane lane = TraceLane::kCompute;
  int track = 0;                  // of the lane: slices of one track do not overlap
  std::uint32_t action = 0;       // of the Program; of a pair that ran as one the first
  int stage = 0;                  // of its pipeline, 0 to S - 1
  std::int64_t micro_batch = -1;  // of its pipeline; -1: it has none
  Duration start{}, end{};        // from the start of the step; longer than 0
  Bytes bytes{};                  // sent or reduced, as far as the plan says
  int peer = -1;                  // of a send: the rank of the job that receives
  int members = 1;                // of a collective: ranks that take part
};

struct MemoryPoint {
  Duration time{};
  Bytes stash{};  // from here on
  Bytes total{};  // with what the rank keeps for the whole step
};

struct TraceRank {
  int rank = 0;  // of the job
  int pipeline_rank = 0;
  std::size_t listed = 0;   // the plan's listed rank, index into the prediction's ranks
  int replicas = 1;         // how many ranks do exactly this; the others are not shown
  std::vector<int> stages;  // of its pipeline, ascending
  std::string device;
  Bytes capacity{};
  std::vector<TraceSlice> slices;   // in the order of the rank's list
  std::vector<MemoryPoint> memory;  // ascending time; of a prediction only
};

// From a send to the compute action that needs what it carries.
struct TraceFlow {
  std::size_t from_rank = 0, from_slice = 0;  // positions in StepTrace::ranks and their slices
  std::size_t to_rank = 0, to_slice = 0;
};

struct StepTrace {
  std::string what;  // "predicted" or "measured"
  std::int64_t step = 0;
  Duration length{};
  std::vector<TraceRank> ranks;  // ascending
  std::vector<TraceFlow> flows;
};

// Replicas that run the same pipeline are shown once. Receives are not shown: they last from when
// they were posted, which says nothing; actions that take no time neither.
StepTrace trace_of(const PlanFile& plan, const Timeline& predicted);

// Every rank of `step`, which must be a step of a run of this plan (validate() judges that).
StepTrace trace_of(const PlanFile& plan, const MeasuredStep& step);

}  // namespace penstock
