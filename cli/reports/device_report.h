// What is known and assumed of GPUs, as tables and as JSON.
#pragma once

#include <string>
#include <vector>

#include "core/values/device_sheet.h"
#include "core/values/json.h"
#include "report/screen.h"
#include "report/table.h"

namespace penstock {

// One row per device.
TextTable devices_table(const std::vector<DeviceSheet>& devices);
std::vector<Json> device_rows(const std::vector<DeviceSheet>& devices);

// One row per figure, with where it is from; every source is told once, in full.
std::string device_report(const DeviceSheet& device, Screen screen);

}  // namespace penstock
