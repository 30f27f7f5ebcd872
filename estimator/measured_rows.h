// Measured profiles as rows that a fit of efficiencies compares with: the counts of a section
// beside the times that were taken. Private to estimator/.
#pragma once

#include <vector>

#include "estimator/fit_efficiency.h"

namespace penstock {

enum class SectionRole { kEmbedding, kLayer, kEnd };

// One measured section type at one key: both directions, of one section.
struct MeasuredRow {
  int profile = 0;  // index into the cases
  const DeviceSheet* device = nullptr;
  Arithmetic arithmetic{};
  double peak = 0.0;
  AttentionKernel kernel{};
  int sequence_length = 1, head_width = 1;
  SectionRole role{};
  int sections = 1;  // of this type in the model
  int pass = 0;      // rows of one key make one pass over the model
  int group = 0;     // of devices, ascending
  SectionCounts counts;
  double forward_s = 0.0, backward_s = 0.0;  // measured
};

// Error{kBadInput} when a device has no datasheet, or its datasheet no rate.
std::vector<MeasuredRow> measured_rows(const std::vector<EfficiencyCase>& cases,
                                       const std::vector<DeviceSheet>& devices);

}  // namespace penstock
