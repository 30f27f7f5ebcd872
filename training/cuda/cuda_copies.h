// Copies on one GPU for the loopback transport: several ranks as threads of one process share it,
// and a message is a device-to-device copy on the receiver's stream, behind the sender's event.
#pragma once

#include <cstddef>
#include <memory>

#include "training/buffer.h"
#include "training/copy_engine.h"

namespace penstock {

// For buffers on this device and in host memory: collectives of the loopback transport are summed
// there. Error{kMissingResource} when there is no such GPU.
std::unique_ptr<CopyEngine> make_cuda_copies(int device);

// Between host memory, which need not be pinned, and a buffer on the device: behind what its stream
// holds, ended on return.
void copy_to_host(const Buffer& from, std::byte* to);
void copy_to_device(const std::byte* from, const Buffer& to);

}  // namespace penstock
