#include "training/cuda/cuda_devices.h"

#include <cstdlib>

#include "core/values/error.h"
#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

std::string in_words(int version) {  // 13000: major * 1000 + minor * 10
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

CudaDevice describe(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index),
             "read the properties of device " + std::to_string(index));
  return {index,
          properties.name,
          properties.major,
          properties.minor,
          Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)},
          Bytes{properties.l2CacheSize}};
}

}  // namespace

std::string cuda_driver_version() {
  int version = 0;
  const bool found = cudaDriverGetVersion(&version) == cudaSuccess && version != 0;
  return found ? in_words(version) : "";
}

std::string cuda_runtime_version() {
  int version = 0;
  check_cuda(cudaRuntimeGetVersion(&version), "read the version of the runtime");
  return in_words(version);
}

std::string why_no_cuda() {
  const std::string driver = cuda_driver_version();
  if (driver.empty()) {
    return "there is no NVIDIA driver on this machine (libcuda.so.1 was not found); install one, "
           "or "
           "use --device cpu";
  }
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return "";
  ignore_cuda(cudaGetLastError());
  const std::string reason = code == cudaSuccess ? "it counts 0 devices" : cudaGetErrorString(code);
  const std::string remedy =
      code == cudaErrorInsufficientDriver
          ? "; update the driver, or build with a toolkit and a LibTorch for CUDA " + driver
          : "; see nvidia-smi and CUDA_VISIBLE_DEVICES";
  return "there is no GPU that CUDA " + cuda_runtime_version() +
         " can use: the driver is for CUDA " + driver + ", and " + reason + remedy +
         ", or use --device cpu";
}

std::vector<CudaDevice> cuda_devices() {
  const std::string missing = why_no_cuda();
  if (!missing.empty()) throw Error(ErrorKind::kMissingResource, missing);
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "count the devices");
  std::vector<CudaDevice> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) devices.push_back(describe(index));
  return devices;
}

int choose_cuda_device(int local_rank) {
  const int gpu = local_rank % static_cast<int>(cuda_devices().size());
  use_cuda_device(gpu);
  return gpu;
}

void prepare_for_cuda() { ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

CudaDevice cuda_device_at(int index) {
  const std::vector<CudaDevice> devices = cuda_devices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) {
    throw Error(ErrorKind::kMissingResource,
                "--device cuda:" + std::to_string(index) + ": this machine has " +
                    std::to_string(devices.size()) + " GPU(s), counted from cuda:0");
  }
  return devices[static_cast<std::size_t>(index)];
}

}  // namespace penstock
