#include "cli/parts/gpu_profiling.h"
#include "runtime_bridge/torch/rank_device.h"

namespace penstock {

std::unique_ptr<GpuProfiling> make_gpu_profiling(const std::string& device, int /*gpu*/) {
  require_device(device);  // which refuses all but the CPU in this build
  return nullptr;
}

}  // namespace penstock
