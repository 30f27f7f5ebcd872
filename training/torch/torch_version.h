// All that differs between the LibTorch versions that are supported (1.13, and from 2.3 on).
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

namespace penstock {

// softmax(q k^T / sqrt(width)) v over the last two dimensions.
inline at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            bool causal) {
#if TORCH_VERSION_MAJOR < 2
  return std::get<0>(at::_scaled_dot_product_attention(q, k, v, {}, 0.0, false, causal));
#else
  return at::scaled_dot_product_attention(q, k, v, {}, 0.0, causal);
#endif
}

// Base of an allocator for the CPU, which overrides allocate_block().
class CpuAllocator : public c10::Allocator {
 public:
#if TORCH_VERSION_MAJOR < 2
  c10::DataPtr allocate(std::size_t bytes) const override { return allocate_block(bytes); }
#else
  c10::DataPtr allocate(std::size_t bytes) override { return allocate_block(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#endif

 private:
  [[nodiscard]] virtual c10::DataPtr allocate_block(std::size_t bytes) const = 0;
};

}  // namespace penstock
