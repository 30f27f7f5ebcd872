// A flat tensor whose memory comes and goes, while views of it stay: those that sections compute
// with, and those that autograd saved for a backward. (PyTorch's FSDP resizes storages likewise.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ATen/ATen.h>

#include "training/torch/flat_weights.h"

namespace penstock {

inline std::size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * tensor.itemsize();
}

// Without memory.
inline at::Tensor hollow_tensor(std::int64_t elements, const at::TensorOptions& options) {
  at::Tensor tensor = at::empty({0}, options);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({elements});
  tensor.storage().set_nbytes(static_cast<std::size_t>(elements) * tensor.itemsize());
  return tensor;
}
inline bool has_memory(const at::Tensor& tensor) {
  return tensor.storage().data_ptr().get() != nullptr;
}
inline void take_memory(const at::Tensor& tensor, StateMemory& memory) {
  const c10::Storage storage = tensor.storage();
  storage.set_data_ptr_noswap(storage.allocator()->allocate(bytes_of(tensor)));
  memory.add(bytes_of(tensor));
}
inline void drop_memory(const at::Tensor& tensor, StateMemory& memory) {
  const c10::Storage storage = tensor.storage();
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, storage.device()));
  memory.remove(bytes_of(tensor));
}
// The same memory under another version counter: autograd, which would take what is written there
// for a change of what it saved, does not see it.
inline at::Tensor unseen(const at::Tensor& tensor) {
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.options());
}

}  // namespace penstock
