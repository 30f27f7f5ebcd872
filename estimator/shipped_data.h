// The datasheets and the fitted efficiencies that are built into the program: data/devices/ and
// data/efficiency/, so that an estimate needs no file but the model's.
#pragma once

#include <string>
#include <vector>

#include "core/values/device_sheet.h"
#include "estimator/efficiency.h"

namespace penstock {

std::vector<DeviceSheet> shipped_devices();  // by name
Efficiency shipped_efficiency();

}  // namespace penstock
