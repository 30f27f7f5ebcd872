// What a step costs a rank besides its sections, measured by carrying out lists of actions with the
// executor of `penstock train` over the transport of a job: dispatching an action, and taking part
// in a message while the rank computes.
#pragma once

#include <functional>
#include <vector>

#include "core/values/measured_executor.h"
#include "core/values/units.h"
#include "training/transport.h"

namespace penstock {

struct ExecutorToMeasure {
  std::vector<Bytes> sizes;          // of messages, ascending
  int messages = 12;                 // per step, each way
  int least = 8, most = 400;         // pairs of steps per size
  Duration per_size{1'000'000'000};  // pairs end after that long, but not below least
  // That this rank has taken of its processor so far. Empty: that of the process.
  std::function<Duration()> processor_time{};
};

// Every rank of the job calls it; ranks 0 and 1 take part. On others, and on rank 1, the result is
// empty. A smaller message takes at most what a larger one does: that was disturbed.
MeasuredExecutor measure_executor(Transport& transport, const ExecutorToMeasure& question);

}  // namespace penstock
