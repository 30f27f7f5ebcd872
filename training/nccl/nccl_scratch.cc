#include "training/nccl/nccl_scratch.h"

#include <algorithm>
#include <bit>
#include <string>

#include "training/cuda/check_cuda.h"

namespace penstock {
namespace {

// Norms, losses and barriers, which ranks exchange while receives are open, all fit into the block
// that the first communicator's first operation has allocated.
constexpr std::size_t kLeast = 4096;

}  // namespace

NcclScratch::~NcclScratch() {
  for (const Block& block : all_) {
    ignore_cuda(cudaFree(block.device));
    ignore_cuda(cudaFreeHost(block.pinned));
  }
}

std::unique_ptr<CudaEvent> NcclScratch::take_event() {
  if (events_.empty()) return std::make_unique<CudaEvent>();
  std::unique_ptr<CudaEvent> event = std::move(events_.back());
  events_.pop_back();
  return event;
}

NcclScratch::Block NcclScratch::take_block(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, kLeast));
  std::vector<Block>& free = free_[size];
  if (!free.empty()) {
    const Block block = free.back();
    free.pop_back();
    return block;
  }
  void *device = nullptr, *pinned = nullptr;
  check_cuda(cudaMalloc(&device, size),
             "allocate " + std::to_string(size) + " bytes for a message of the host");
  all_.push_back({static_cast<std::byte*>(device), nullptr, size});
  check_cuda(cudaMallocHost(&pinned, size),
             "allocate " + std::to_string(size) + " bytes of pinned memory");
  all_.back().pinned = static_cast<std::byte*>(pinned);
  return all_.back();
}

}  // namespace penstock
