#include "training/cuda/check_cuda.h"

#include "core/values/error.h"

namespace penstock {
namespace {

// What the machine lacks, as against what we did wrong.
bool is_missing_resource(cudaError_t code) {
  switch (code) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorMemoryAllocation:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorDeviceUninitialized:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check_cuda(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return;
  // Otherwise the next check of a launch would report this failure again.
  ignore_cuda(cudaGetLastError());
  throw Error(is_missing_resource(code) ? ErrorKind::kMissingResource : ErrorKind::kInternal,
              "CUDA: cannot " + what + ": " + cudaGetErrorString(code) + " (" +
                  cudaGetErrorName(code) + ")");
}

void ignore_cuda(cudaError_t /*code*/) noexcept {}

}  // namespace penstock
