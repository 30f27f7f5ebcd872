#include "estimator/shipped_data.h"

#include "core/values/json.h"
#include "estimator/shipped_files.h"

namespace penstock {

std::vector<DeviceSheet> shipped_devices() {
  std::vector<DeviceSheet> devices;
  for (const ShippedFile& file : shipped_device_files()) {
    devices.push_back(read_device_sheet(parse_json(file.text, file.path), file.path));
  }
  return devices;
}

Efficiency shipped_efficiency() {
  const ShippedFile file = shipped_efficiency_file();
  return read_efficiency(parse_json(file.text, file.path), file.path);
}

}  // namespace penstock
