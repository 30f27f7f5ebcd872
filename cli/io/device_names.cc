#include "cli/io/device_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/words/device_facts.h"

namespace penstock {

std::vector<std::string> devices_of(const ModelProfile& profile) {
  std::vector<std::string> devices;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& each : type.measurements) {
      if (std::find(devices.begin(), devices.end(), each.device) == devices.end())
        devices.push_back(each.device);
    }
  }
  return devices;
}

std::vector<std::string> take_device_names(const Loaded<ClusterSpec>& cluster,
                                           Loaded<ModelProfile>& profile) {
  std::vector<std::string> said, measured = devices_of(profile.value);
  for (const DeviceType& type : cluster.value.device_types) {
    const std::string own = device_among(measured, type.name);
    // A name of another type of the cluster stays that type's.
    const auto& types = cluster.value.device_types;
    const bool is_taken = std::any_of(types.begin(), types.end(),
                                      [&own](const auto& each) { return each.name == own; });
    if (own.empty() || is_taken) continue;
    for (SectionType& section : profile.value.section_types) {
      for (Measurement& each : section.measurements) {
        if (each.device == own) each.device = type.name;
      }
    }
    std::replace(measured.begin(), measured.end(), own, type.name);
    said.push_back(
        fmt::format("{} of {} is {} of {}", type.name, cluster.file.path, own, profile.file.path));
  }
  return said;
}

}  // namespace penstock
