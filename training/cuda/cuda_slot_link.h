// The SlotLink of a GPU: asynchronous copies on a stream per direction, ordered by events behind
// compute and behind each other; what follows a copy on the host runs on a stream of its own.
#pragma once

#include <memory>

#include "training/cuda/cuda_device.h"
#include "training/slot_link.h"

namespace penstock {

// `allocator` knows the stream on which the calling thread computes. `duplex`: directions run
// beside each other. Error{kMissingResource} when there is no such GPU.
std::unique_ptr<SlotLink> make_cuda_slot_link(int device, std::unique_ptr<CudaAllocator> allocator,
                                              bool duplex);

}  // namespace penstock
