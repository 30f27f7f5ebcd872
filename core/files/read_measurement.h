// Rows of a section type in penstock.profile/1: what was measured, and what ran out of memory.
// Private to core/.
#pragma once

#include <vector>

#include "core/files/read_sources.h"

namespace penstock {

inline constexpr int kMostTensorDegree = 1'000'000;

// Null where the type has no count for this degree. Degrees ascend.
const ParameterCount* at_degree(const std::vector<ParameterCount>& parameters, int degree);

Measurement read_measurement(JsonReader row, const SectionType& type, const Names& sources);
OutOfMemoryKey read_out_of_memory(JsonReader row);

}  // namespace penstock
