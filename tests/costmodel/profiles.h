// Measurements to work examples on.
#pragma once

#include "core/values/profile.h"

namespace penstock {

// A measurement on device "gpu", T = 1: forward and fused backward in ns, sources[0].
inline Measurement measured(int samples, int length, std::int64_t forward_ns,
                            std::int64_t backward_ns) {
  Measurement m;
  m.device = "gpu";
  m.micro_batch_size = samples;
  m.sequence_length = length;
  m.forward.median = Duration{forward_ns};
  m.fused_backward = Timing{Duration{backward_ns}, Duration{}};
  return m;
}

inline SectionType section_type(const std::string& name, std::int64_t parameters,
                                std::vector<Measurement> measurements) {
  SectionType type;
  type.name = name;
  type.parameters = {{1, parameters}};
  type.measurements = std::move(measurements);
  return type;
}

// sources: 0 measured, 1 assumed, 2 from a datasheet.
inline std::vector<Source> three_sources() {
  return {{"run", Origin::kMeasured, "a run", ""},
          {"shape", Origin::kAssumed, "from tensor shapes", ""},
          {"sheet", Origin::kDatasheet, "vendor's page", ""}};
}

// A model of `count` equal sections.
inline ModelProfile model_of(SectionType type, int count = 1) {
  ModelProfile profile;
  profile.name = "model";
  profile.sources = three_sources();
  for (int i = 0; i < count; ++i) profile.sections.push_back({type.name + std::to_string(i), 0});
  profile.section_types = {std::move(type)};
  return profile;
}

}  // namespace penstock
