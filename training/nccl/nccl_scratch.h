// What the operations of one rank use again: events, and memory for buffers that are on the host.
// To allocate either on a GPU may wait until it is idle, which it is not while a receive is open.
// Of the rank's own thread. Private to training/nccl.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "training/cuda/cuda_stream.h"

namespace penstock {

class NcclScratch {
 public:
  struct Block {
    std::byte *device = nullptr, *pinned = nullptr;
    std::size_t bytes = 0;
  };

  NcclScratch() = default;
  ~NcclScratch();
  NcclScratch(const NcclScratch&) = delete;
  NcclScratch& operator=(const NcclScratch&) = delete;

  std::unique_ptr<CudaEvent> take_event();
  void give_back(std::unique_ptr<CudaEvent> event) { events_.push_back(std::move(event)); }
  // Of at least so many bytes. What is not given back is freed when this ends.
  Block take_block(std::size_t bytes);
  void give_back(const Block& block) { free_[block.bytes].push_back(block); }

 private:
  std::vector<std::unique_ptr<CudaEvent>> events_;
  std::map<std::size_t, std::vector<Block>> free_;
  std::vector<Block> all_;
};

}  // namespace penstock
