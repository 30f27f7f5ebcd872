// A Transport for buffers on a GPU made from one that knows host memory only (Gloo): copies through
// host memory around each transfer. Buffers in host memory pass as they are.
#pragma once

#include <cstddef>
#include <memory>

#include "training/buffer.h"
#include "training/transport.h"

namespace penstock {

// Host memory and the way between it and a device; pinned memory on CUDA (training/cuda).
class StagingMemory {
 public:
  // May still be under way.
  class Copy {
   public:
    virtual ~Copy() = default;
    [[nodiscard]] virtual bool done() = 0;
    virtual void wait() = 0;
  };

  virtual ~StagingMemory() = default;
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) = 0;
  // Behind what the buffer's stream holds by now; what it is given later comes after the copy.
  [[nodiscard]] virtual std::unique_ptr<Copy> to_host(const Buffer& device, std::byte* host) = 0;
  [[nodiscard]] virtual std::unique_ptr<Copy> to_device(const std::byte* host,
                                                        const Buffer& device) = 0;
};

// A send, and the start of a collective, wait on the host until the device has made the data: only
// then can the transport below be given them, and no thread but the caller's is there to do it
// later. A receive or collective has ended when the copy to the device is queued on the buffer's
// stream.
std::unique_ptr<Transport> make_staged_transport(std::unique_ptr<Transport> below,
                                                 std::unique_ptr<StagingMemory> memory);

}  // namespace penstock
