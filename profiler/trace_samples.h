// What a tracer says of the steps of a chain: what every action consists of on the device, and what
// tracing costs. It explains the times of profiler/section_samples.h and is no price itself.
#pragma once

#include <string>
#include <vector>

#include "profiler/activity.h"
#include "profiler/chain_to_measure.h"
#include "profiler/samples.h"

namespace penstock {

// One size. Tags name sections by their place in the model.
struct TraceSamples {
  int micro_batch_size = 1, sequence_length = 0;
  std::string recompute = "none";
  int steps = 0;  // that were traced
  // Empty: all activity belongs to a scope. Else the sentence of why_void(), and no tags below.
  std::string why_void;
  std::vector<TagActivity> sections;    // per section and phase
  std::vector<TagActivity> types;       // sections of one type together, under the first of them
  std::vector<std::string> type_names;  // of each of `types`; empty for what is of all sections
  int confirmed = 0, without_external_id = 0;  // device activities, as in Attribution
  Duration unattributed{};
  Duration tracer_overhead{};                // what the tracer itself says it took, of all steps
  SampleSummary untraced_step, traced_step;  // the same work, by the device's clock
  bool operator==(const TraceSamples&) const = default;
};

// Nothing about the times of steps, which the recording does not have.
TraceSamples summarize_trace(const ChainToMeasure& chain, const ActivityRecording& recording);

// How much longer a step takes with tracing on: 0.1 for a tenth. Below 0 when it is lost in noise.
double tracing_overhead(const TraceSamples& samples);

}  // namespace penstock
