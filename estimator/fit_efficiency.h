// Measured profiles + what their models are made of + datasheets -> Efficiency: the shares of the
// datasheet's rates that the measured layers got, and how far profiles and devices that a fit did
// not see lay from it.
#pragma once

#include <string>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/profile.h"
#include "estimator/count_operations.h"
#include "estimator/efficiency.h"

namespace penstock {

struct EfficiencyCase {
  std::string name;  // of the profile, as reports call it
  ModelProfile profile;
  Architecture model;
  Arithmetic arithmetic = Arithmetic::kTensorFloat32;  // full float32 where a device has it not
  AttentionKind attention = AttentionKind::kKept;
  bool in_fit = true;
};

// Error{kBadInput} when a device of a profile has no datasheet, or when fewer than two profiles or
// devices are to be fitted: nothing could be left out.
Efficiency fit_efficiency(const std::vector<EfficiencyCase>& cases,
                          const std::vector<DeviceSheet>& devices);

}  // namespace penstock
