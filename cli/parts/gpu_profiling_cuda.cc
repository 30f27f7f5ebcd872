#include <utility>

#include "cli/parts/gpu_profiling.h"
#include "profiler/cuda/copies.h"
#include "profiler/cuda/cupti_tracer.h"
#include "profiler/cuda/device_pool.h"
#include "training/cuda/cuda_devices.h"
#include "training/nccl/nccl_transport.h"

namespace penstock {
namespace {

// Between rank 0 and all others, and among the first two, in one order on every rank.
std::vector<std::pair<int, int>> ways_of_links(int ranks) {
  std::vector<std::pair<int, int>> ways;
  ways.reserve(2 * static_cast<std::size_t>(ranks));
  for (int peer = 1; peer < ranks; ++peer) ways.emplace_back(0, peer);
  for (int peer = 1; peer < ranks; ++peer) ways.emplace_back(peer, 0);
  return ways;
}

class CudaProfiling : public GpuProfiling {
 public:
  explicit CudaProfiling(int gpu) : gpu_(gpu) {}

  std::unique_ptr<ActivityTracer> tracer() override { return make_cupti_tracer(gpu_); }
  std::string tracer_warning() override { return cupti_warning(); }
  int gpus() override { return static_cast<int>(cuda_devices().size()); }
  Bytes memory() override { return device_memory(gpu_).total; }
  Bytes taken_memory() override { return device_memory(gpu_).taken; }
  std::vector<CopySample> copies(Bytes largest, bool under_load, Duration budget,
                                 ProfilingProgress& progress) override {
    CopyPlan plan;
    plan.largest = largest;
    plan.under_load = under_load;
    plan.budget = budget;
    return measure_copies(gpu_, plan, progress);
  }
  LinkPool pool(Bytes bytes) override { return make_device_pool(gpu_, bytes); }
  std::unique_ptr<Transport> transport(const LaunchEnvironment& place,
                                       std::unique_ptr<KeyValueStore> store) override {
    NcclOptions options;
    options.rank = place.rank;
    options.size = place.ranks;
    options.device = gpu_;
    options.name = place.key_prefix + "/links";
    options.ways = ways_of_links(place.ranks);
    return make_nccl_transport(options, std::move(store));
  }

 private:
  int gpu_;
};

}  // namespace

std::unique_ptr<GpuProfiling> make_gpu_profiling(const std::string& device, int gpu) {
  return device == "cpu" ? nullptr : std::make_unique<CudaProfiling>(gpu);
}

}  // namespace penstock
