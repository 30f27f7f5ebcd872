#include "core/values/error.h"
#include "runtime_bridge/torch/rank_device.h"
#include "training/torch/cpu_device.h"
#include "training/torch/limited_cpu_device.h"

namespace penstock {
namespace {

[[noreturn]] void no_gpu() {
  throw Error(
      ErrorKind::kMissingResource,
      "this penstock uses no GPUs: its LibTorch has no CUDA\nhelp: reconfigure with "
      "-DPENSTOCK_GPU=CUDA and CMAKE_PREFIX_PATH naming a LibTorch with CUDA, or use CPUs with "
      "--device cpu; a model that nobody measured is estimated by penstock plan, of its "
      "config.json, "
      "for a GPU that penstock devices lists");
}

}  // namespace

void require_device(const std::string& name) {
  if (name != "cpu") no_gpu();
}

std::string words_of_device(const std::string& name) {
  require_device(name);
  return name;
}

std::unique_ptr<Device> make_rank_device(const std::string& name, int /*local_rank*/) {
  require_device(name);
  return make_cpu_device();
}

std::unique_ptr<Device> make_limited_device(const std::string& name, int /*local_rank*/,
                                            Bytes limit) {
  require_device(name);
  return make_limited_cpu_device(limit);
}

std::unique_ptr<SlotLink> make_slot_link(const std::string& name, int /*local_rank*/,
                                         const ThrottledLinkOptions& options) {
  require_device(name);
  return make_throttled_link(options);
}

BufferCopy make_rank_copy(const std::string& name) {
  require_device(name);
  return copy_in_host_memory();
}

std::unique_ptr<CopyEngine> make_rank_copies(const std::string& name) {
  require_device(name);
  return nullptr;
}

std::unique_ptr<Transport> staged(std::unique_ptr<Transport> transport, const std::string& name,
                                  int /*local_rank*/) {
  require_device(name);
  return transport;
}

std::unique_ptr<Transport> make_nccl(const std::vector<std::pair<int, int>>& /*ways*/,
                                     const LaunchEnvironment& /*place*/,
                                     const TrainOptions& /*options*/,
                                     std::unique_ptr<KeyValueStore> /*store*/) {
  no_gpu();
}

}  // namespace penstock
