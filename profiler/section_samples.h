// What was measured of the sections of a model, before it becomes a ModelProfile.
#pragma once

#include <string>
#include <vector>

#include "core/values/units.h"
#include "profiler/samples.h"

namespace penstock {

// As in core/values/profile.h, Measurement.
struct SectionMemory {
  Bytes stash, weight_stash, working_peak, boundary;
  bool operator==(const SectionMemory&) const = default;
};

// One type of section at one size. A summary without samples: not measured.
struct SectionSamples {
  std::string type;
  int micro_batch_size = 1, sequence_length = 0;
  int decoder_length = 0;  // of sections that know it
  std::string recompute = "none";
  SampleSummary forward, input_gradient, weight_gradient, fused_backward, recompute_time;
  SectionMemory memory;
  bool operator==(const SectionSamples&) const = default;
};

// What one run over a chain of sections yields.
struct ChainSamples {
  std::vector<SectionSamples> sections;  // one per type, in the order of the chain
  SampleSummary optimizer, norm;         // of all parameters of the chain together
  bool settled = false;  // else it was stopped before every median was known well enough
  bool operator==(const ChainSamples&) const = default;
};

}  // namespace penstock
