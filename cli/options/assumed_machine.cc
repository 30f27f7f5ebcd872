#include "cli/options/assumed_machine.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/network_rate.h"
#include "cli/words/device_called.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr int kMostGpus = 1'000'000;
constexpr std::string_view kMarks = ":*=";

DeviceSheet sheet_with(const std::string& name, const std::optional<std::string>& network) {
  DeviceSheet sheet = sheet_of(name);
  if (network) set_network(sheet, parse_network("--network", *network));
  return sheet;
}

// "h100-sxm:32".
CountedSheet counted_in(const std::string& text, const std::optional<std::string>& network) {
  const std::size_t mark = text.find_last_of(kMarks);
  const std::string name = text.substr(0, mark);
  if (mark == std::string::npos) {
    bad_option("--device", fmt::format("of '{}' no number of GPUs is said", text),
               fmt::format("write {}:32, and so for each of the device types", text));
  }
  return {sheet_with(name, network),
          parse_int("--device " + name, text.substr(mark + 1), 1, kMostGpus)};
}

}  // namespace

bool counts_several(const std::string& device) {
  return device.find(',') != std::string::npos && device.find_first_of(kMarks) != std::string::npos;
}

std::vector<CountedSheet> devices_counted(const std::string& device,
                                          const std::optional<std::string>& gpus,
                                          const std::optional<std::string>& network) {
  if (!counts_several(device)) {
    DeviceSheet sheet = sheet_with(device, network);
    const int usual = sheet.node.devices;
    return {{std::move(sheet), gpus ? parse_int("--gpus", *gpus, 1, kMostGpus) : usual}};
  }
  if (gpus) {
    bad_option("--gpus", "the numbers stand with the device types", "leave it out");
  }
  std::vector<CountedSheet> all;
  for (const std::string& each : parse_list("--device", device)) {
    all.push_back(counted_in(each, network));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_twice = std::any_of(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const CountedSheet& other) { return other.device.name == all[i].device.name; });
    if (is_twice) {
      bad_option("--device", fmt::format("{} is named twice", all[i].device.name),
                 "write all of its GPUs behind it once");
    }
  }
  return all;
}

ClusterSpec assumed_machine(const std::string& device, const std::optional<std::string>& gpus,
                            const std::optional<std::string>& network) {
  return default_cluster(devices_counted(device, gpus, network));
}

}  // namespace penstock
