#include <algorithm>
#include <cmath>
#include <string>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

// Of all devices of the job; 0 where one of them is not known.
double peak_of_job(const PlanFile& file) {
  double sum = 0.0;
  for (int rank = 0; rank < file.plan.listed_ranks(); ++rank) {
    double peak = 0.0;
    for (const auto& [device, flops_per_s] : file.flops->peaks) {
      if (device == file.plan.device_of_rank(rank)) peak = flops_per_s;
    }
    if (peak <= 0.0) return 0.0;
    sum += peak * replicas_of_rank(file.plan, rank) * file.plan.devices_per_rank();
  }
  return sum;
}

}  // namespace

// 6 FLOP per parameter is a rule of thumb that experts and lookups exceed, so only a count of the
// products themselves is held against the devices.
void check_flops(const PlanFile& file, Duration step, Findings& findings) {
  if (!file.flops || file.flops->convention != FlopConvention::kMegatron) return;
  const double peak = peak_of_job(file);
  const double seconds = static_cast<double>(step.count()) * 1e-9;
  if (peak <= 0.0 || seconds <= 0.0) return;
  const double share = file.flops->per_sample * file.plan.global_batch / seconds / peak;
  if (share <= 1.0) return;
  findings.add("/flops", "the step would be an MFU of " +
                             std::to_string(std::llround(std::min(1e9, 100.0 * share))) +
                             " %; no device computes faster than its peak");
}

}  // namespace penstock
