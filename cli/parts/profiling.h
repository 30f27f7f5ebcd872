// Measuring on this machine: of the pair profiling_none.cc and profiling_torch.cc one is linked.
#pragma once

#include <optional>
#include <string>

#include "cli/io/answer.h"
#include "cli/options/profile_options.h"
#include "core/values/measured_executor.h"
#include "profiler/copy_samples.h"
#include "profiler/link_samples.h"
#include "profiler/progress.h"
#include "profiler/torch/measure_model.h"
#include "runtime_bridge/launch_environment.h"

namespace penstock {

struct MeasuredGpu {
  int gpus = 1;                    // of this machine
  Bytes memory;                    // of the one that was measured
  std::vector<CopySample> copies;  // with links
};

struct Measured {
  std::optional<ModelSamples> sections;
  std::optional<LinkSamples> links;          // none where one GPU is alone
  std::optional<MeasuredExecutor> executor;  // of our own runtime, with links between CPUs
  std::optional<MeasuredGpu> gpu;            // unless the device is a CPU
  std::string link_level = "gloo";           // or "nccl": what joins the ranks
  BytesPerSecond memory_bandwidth;           // with links
  Bytes reserve;  // what a rank holds before it has a model; of a GPU: what is taken by then
  std::vector<std::string> notes;  // sentences
  std::string library;             // "LibTorch 1.13.1"
  std::string device;              // "cpu", "NVIDIA H200, CUDA 13.0"
  double gigaflops = 0.0;          // of one thread's matrix products
};

// Error{kMissingResource} when `request` needs what this build or this machine lacks.
void check_profiling(const ProfileRequest& request);

// How many ranks links are measured between: as asked for, but on GPUs each needs one of its own.
// 1: no links, only copies between the host and one GPU. Error{kMissingResource} when several GPUs
// are too few.
int link_ranks(const ProfileRequest& request);

// Starts `ranks` times this program with the same arguments; the exit code of the first that
// failed, or 0. Rank 0 prints.
int run_profiling_ranks(const Arguments& arguments, int ranks, const Environment& environment);

// What rank 0 measured; on other ranks nothing.
std::optional<Measured> measure_as_rank(const ProfileRequest& request,
                                        const LaunchEnvironment& place,
                                        ProfilingProgress& progress);

}  // namespace penstock
