// Which GPUs this machine has, or what is missing for it to have one.
#pragma once

#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct CudaDevice {
  int index = 0;
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  Bytes memory{};
  Bytes l2_cache{};
  bool operator==(const CudaDevice&) const = default;
};

// "13.0"; empty when there is no driver.
std::string cuda_driver_version();
std::string cuda_runtime_version();

// Empty when at least one GPU can be used; else what is missing and what to do.
std::string why_no_cuda();

// All of them; Error{kMissingResource} with why_no_cuda() when there is none.
std::vector<CudaDevice> cuda_devices();

// Of the GPUs that the process may use, the one of its local rank: the ranks of a host share them
// in turn, and a launcher that shows each rank one GPU only has given it that one. From now on it
// is the calling thread's current one, before anything could open a context on another.
int choose_cuda_device(int local_rank);

// Before the process' first use of a GPU, where the environment does not say otherwise: as many
// hardware queues as there may be (CUDA_DEVICE_MAX_CONNECTIONS=32, and not 8). Streams that share
// one wait for each other, and receives that are open hold theirs until other ranks send.
void prepare_for_cuda();

// The GPU of a rank's flag `--device cuda:INDEX`; Error{kMissingResource} that says how many there
// are.
CudaDevice cuda_device_at(int index);

}  // namespace penstock
