// What `penstock profile` asks of GPUs besides what LibTorch runs on them. Of the pair
// gpu_profiling_none.cc and gpu_profiling_cuda.cc one is linked, by what LibTorch can do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profiler/activity_tracer.h"
#include "profiler/copy_samples.h"
#include "profiler/link_pool.h"
#include "profiler/progress.h"
#include "runtime_bridge/launch_environment.h"
#include "training/key_value_store.h"
#include "training/transport.h"

namespace penstock {

class GpuProfiling {
 public:
  virtual ~GpuProfiling() = default;
  // Error{kMissingResource} when somebody else traces, or nothing can be traced here. One per
  // process, made before anything else uses the GPU.
  [[nodiscard]] virtual std::unique_ptr<ActivityTracer> tracer() = 0;
  // Empty, or what is known to be wrong with the tracer of this machine.
  [[nodiscard]] virtual std::string tracer_warning() = 0;
  [[nodiscard]] virtual int gpus() = 0;  // of this machine
  [[nodiscard]] virtual Bytes memory() = 0;
  [[nodiscard]] virtual Bytes taken_memory() = 0;  // by now, by all processes
  // Within `budget`, if it is not zero.
  [[nodiscard]] virtual std::vector<CopySample> copies(Bytes largest, bool under_load,
                                                       Duration budget,
                                                       ProfilingProgress& progress) = 0;
  [[nodiscard]] virtual LinkPool pool(Bytes bytes) = 0;
  // NCCL between the ranks of `place`, each with the GPU of its local rank.
  [[nodiscard]] virtual std::unique_ptr<Transport> transport(
      const LaunchEnvironment& place, std::unique_ptr<KeyValueStore> store) = 0;
};

// Nothing for "cpu". Touches no GPU.
std::unique_ptr<GpuProfiling> make_gpu_profiling(const std::string& device, int gpu);

}  // namespace penstock
