#include "cli/io/measured_machine.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cli/io/text_file.h"
#include "cli/words/device_facts.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

// Nothing of a file that is not there, or that an import would refuse: it says why.
std::optional<NcclTest> test_in(const std::string& file) {
  try {
    return read_nccl_test(load_text(file, ""), file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_known(const DeviceFacts& facts) { return facts.memory_gib > 0.0; }

}  // namespace

bool is_nccl_table(const std::string& file) { return test_in(file).has_value(); }

int gpus_for(const NcclTest& test, const std::string& device) {
  return test.hosts > 1 ? std::max(test.ranks, test.hosts * device_facts(device).per_node)
                        : test.ranks;
}

Arguments machine_measured(const std::vector<std::string>& files) {
  int gpus = 0;
  std::set<std::string> devices;
  for (const std::string& file : files) {
    const auto test = test_in(file);
    if (!test) continue;
    gpus = std::max(gpus, gpus_for(*test, test->gpus.empty() ? "" : test->gpus.front()));
    for (const std::string& gpu : test->gpus) {
      const DeviceFacts facts = device_facts(gpu);
      devices.insert(is_known(facts) ? facts.name : "NAME");
    }
  }
  const std::string device = devices.empty()       ? "h100-sxm"
                             : devices.size() == 1 ? *devices.begin()
                                                   : "NAME";
  return {"--device", device, "--gpus", gpus == 0 ? "16" : std::to_string(gpus)};
}

std::string note_on_other_gpus(const NcclTest& test, const ClusterSpec& cluster) {
  std::vector<std::string> names, others;
  for (const DeviceType& type : cluster.device_types) {
    if (!is_known(device_facts(type.name))) return "";
    names.push_back(type.name);
  }
  for (const std::string& gpu : test.gpus) {
    const DeviceFacts facts = device_facts(gpu);
    if (is_known(facts) && device_among(names, facts.name).empty()) others.push_back(gpu);
  }
  if (others.empty()) return "";
  return fmt::format(
      "{} ran on {}, and the cluster has {}: a cluster of the GPU that was measured is {}",
      test.file, joined(others, ", "), joined(names, ", "),
      joined(machine_measured({test.file}), " "));
}

}  // namespace penstock
