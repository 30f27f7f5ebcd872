#include "runtime_bridge/rank_devices.h"

#include <algorithm>
#include <cstddef>

#include "core/values/error.h"

namespace penstock {

std::vector<std::string> devices_of_ranks(const Plan& plan) {
  std::vector<std::string> devices;
  const bool inner = plan.placement == Placement::kPipelineInner;
  for (int group = 0; group < plan.pipeline * plan.data; ++group) {
    const int pipeline_rank = inner ? group % plan.pipeline : group / plan.data;
    devices.insert(devices.end(), static_cast<std::size_t>(plan.devices_per_rank()),
                   plan.device_of_rank(pipeline_rank));
  }
  return devices;
}

int rank_in_plan(const std::vector<std::string>& devices, const RanksOfTypes& launched, int rank) {
  int first = 0;                                   // rank of the type, by the launcher
  int surplus = static_cast<int>(devices.size());  // the next number behind the plan's ranks
  for (const auto& [type, ranks] : launched) {
    const int used = static_cast<int>(std::count(devices.begin(), devices.end(), type));
    if (rank >= first + ranks) {
      first += ranks;
      surplus += std::max(0, ranks - used);
      continue;
    }
    int left = rank - first;
    if (left >= used) return surplus + left - used;
    for (std::size_t r = 0; r < devices.size(); ++r) {
      if (devices[r] == type && left-- == 0) return static_cast<int>(r);
    }
  }
  throw_bad_input("rank " + std::to_string(rank) + " is beyond the " + std::to_string(first) +
                  " ranks that --ranks-of names\nhelp: name all ranks that the launcher starts");
}

}  // namespace penstock
