// What records device activity while something is measured. The tracer of CUPTI is in
// profiler/cuda; what measures knows this interface only.
#pragma once

#include "profiler/activity.h"

namespace penstock {

class ActivityTracer {
 public:
  virtual ~ActivityTracer() = default;
  virtual void start() = 0;
  // One scope at a time, opened and closed by one thread; the scope must cover every launch of what
  // it measures, not the end of the kernels.
  virtual void open_scope(ActivityTag tag) = 0;
  virtual void close_scope() = 0;
  // Waits for the device, collects what is still on its way and ends tracing. start() may be called
  // again afterwards.
  [[nodiscard]] virtual ActivityRecording stop() = 0;
};

}  // namespace penstock
