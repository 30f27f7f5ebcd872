// Steps over a chain with a scope around every action, once without and once with a tracer. After
// measure_chain(), whose times stay the prices: tracing makes launches slower.
#pragma once

#include "profiler/activity_tracer.h"
#include "profiler/chain_to_measure.h"
#include "profiler/trace_samples.h"
#include "training/device.h"
#include "training/rank_work.h"

namespace penstock {

struct TraceRule {
  int warm_up = 3;  // steps, thrown away, before either kind
  int steps = 10;   // of either kind
};

struct ChainTrace {
  TraceSamples samples;
  ActivityRecording recording;  // of all traced steps
};

// `work` runs `chain`, and has run it before: what is set up once, such as the work space of a
// library, belongs to no section. The tracer is not tracing, before and after.
ChainTrace trace_chain(const ChainToMeasure& chain, RankWork& work, Device& device,
                       ActivityTracer& tracer, const TraceRule& rule = {});

}  // namespace penstock
