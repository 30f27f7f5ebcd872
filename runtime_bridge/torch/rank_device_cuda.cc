#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/torch/rank_device.h"
#include "training/cuda/cuda_copies.h"
#include "training/cuda/cuda_device.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_slot_link.h"
#include "training/cuda/pinned_staging.h"
#include "training/cuda/torch_cuda_allocator.h"
#include "training/nccl/nccl_transport.h"
#include "training/torch/cpu_device.h"
#include "training/torch/limited_cpu_device.h"

namespace penstock {
namespace {

bool is_cpu(const std::string& name) { return name == "cpu"; }

}  // namespace

void require_device(const std::string& name) {
  if (is_cpu(name)) return;
  prepare_for_cuda();
  (void)cuda_devices();
}

std::string words_of_device(const std::string& name) {
  if (is_cpu(name)) return name;
  prepare_for_cuda();
  return cuda_device_at(0).name + ", CUDA " + cuda_driver_version();
}

std::unique_ptr<Device> make_rank_device(const std::string& name, int local_rank) {
  if (is_cpu(name)) return make_cpu_device();
  const int gpu = choose_cuda_device(local_rank);
  return make_cuda_device(gpu, torch_cuda_allocator(gpu));
}

std::unique_ptr<Device> make_limited_device(const std::string& name, int local_rank, Bytes limit) {
  return is_cpu(name) ? make_limited_cpu_device(limit) : make_rank_device(name, local_rank);
}

std::unique_ptr<SlotLink> make_slot_link(const std::string& name, int local_rank,
                                         const ThrottledLinkOptions& options) {
  if (is_cpu(name)) return make_throttled_link(options);
  const int gpu = choose_cuda_device(local_rank);
  return make_cuda_slot_link(gpu, torch_cuda_allocator(gpu), options.duplex);
}

BufferCopy make_rank_copy(const std::string& name) {
  if (is_cpu(name)) return copy_in_host_memory();
  BufferCopy host = copy_in_host_memory();
  return {[host](const Buffer& from, std::byte* to) {
            from.on_device ? copy_to_host(from, to) : host.to_host(from, to);
          },
          [host](const std::byte* from, const Buffer& to) {
            to.on_device ? copy_to_device(from, to) : host.from_host(from, to);
          }};
}

// Ranks that are threads share the first GPU.
std::unique_ptr<CopyEngine> make_rank_copies(const std::string& name) {
  return is_cpu(name) ? nullptr : make_cuda_copies(0);
}

std::unique_ptr<Transport> staged(std::unique_ptr<Transport> transport, const std::string& name,
                                  int local_rank) {
  if (is_cpu(name)) return transport;
  return make_staged_transport(std::move(transport),
                               make_pinned_staging(choose_cuda_device(local_rank)));
}

std::unique_ptr<Transport> make_nccl(const std::vector<std::pair<int, int>>& ways,
                                     const LaunchEnvironment& place, const TrainOptions& options,
                                     std::unique_ptr<KeyValueStore> store) {
  NcclOptions nccl;
  nccl.rank = place.rank;
  nccl.size = place.ranks;
  nccl.device = choose_cuda_device(place.local_rank);
  nccl.name = place.key_prefix;
  nccl.time_out = options.time_out;
  nccl.ways = ways;
  return make_nccl_transport(nccl, std::move(store));
}

}  // namespace penstock
