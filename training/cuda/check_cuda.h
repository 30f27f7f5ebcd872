// Codes of the CUDA runtime become Errors here and nowhere else. Private to what uses the runtime.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace penstock {

// `what` completes "cannot ...": "copy 4096 bytes to the device".
void check_cuda(cudaError_t code, const std::string& what);

// For destructors, where a failure has nobody to tell: the code is read and forgotten.
void ignore_cuda(cudaError_t code) noexcept;

}  // namespace penstock
