#include "cli/words/device_facts.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/words/device_called.h"
#include "core/values/error.h"
#include "estimator/shipped_data.h"

namespace penstock {

DeviceFacts device_facts(const std::string& name) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  try {
    const DeviceSheet sheet = sheet_of(name);
    constexpr double kGigabit = 1e9 / 8;
    const std::string network =
        sheet.network ? fmt::format("{:g}Gb/s", sheet.network->bandwidth.value / kGigabit) : "";
    return {sheet.name, sheet.node.devices, static_cast<double>(sheet.memory.count) / kGib,
            network};
  } catch (const Error&) {
    return {name};
  }
}

std::string device_among(const std::vector<std::string>& known, const std::string& name) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  for (const DeviceSheet& sheet : shipped_devices()) {
    if (!sheet.is_called(name)) continue;
    const auto alike = std::find_if(known.begin(), known.end(), [&sheet](const std::string& each) {
      return sheet.is_called(each);
    });
    if (alike != known.end()) return *alike;
  }
  return "";
}

}  // namespace penstock
