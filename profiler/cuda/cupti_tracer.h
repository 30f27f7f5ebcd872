// Device activity from CUPTI's Activity API. Records share the steady clock with our own marks.
//
// One tracer per process, made before the first use of the GPU. It and LibTorch's own profiler
// exclude each other: both would set CUPTI's clock.
#pragma once

#include <memory>
#include <string>

#include "profiler/activity_tracer.h"

namespace penstock {

// Error{kMissingResource} when there is no GPU, or another tool holds CUPTI (its name is in the
// message); Error{kInternal} when there already is a tracer.
std::unique_ptr<ActivityTracer> make_cupti_tracer(int device);

// "13.0.1 (130001)": of the library, which runs without a driver.
std::string cupti_version();
// Empty, or why this library is known to be bad: before 13.0 Update 1 it may hang when tracing
// ends.
std::string cupti_warning();

}  // namespace penstock
