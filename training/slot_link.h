// The way between the slots of a device and the host, where stages are loaded and stored: copies
// that run beside what the device computes, each direction in the order in which they are asked
// for. On a CPU a thread per direction (throttled_link.h), on a GPU a stream (training/cuda).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "training/buffer.h"
#include "training/rank_work.h"

namespace penstock {

// Buffers of one copy, one after the other.
struct SlotPiece {
  Buffer from, to;               // of as many bytes; one of them on the host
  std::function<void()> then{};  // on the host once the piece is there, beside the next one's way
};

struct SlotTransfer {
  bool to_host = false;
  std::vector<SlotPiece> pieces;
  std::vector<Buffer> cleared{};  // of the device: zero behind the pieces
};

class SlotLink {
 public:
  virtual ~SlotLink() = default;
  // Host memory for copies, zero, page-locked where they need that; it lives as long as the link.
  // Error{kMissingResource} where there is not enough.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  // Begins when `after` have ended, which this link made, and what the calling thread has queued on
  // the device. An exception of a piece is thrown by wait().
  [[nodiscard]] virtual std::unique_ptr<SlotCopy> copy(
      SlotTransfer transfer, const std::vector<const SlotCopy*>& after) = 0;
  // What takes no time and ends like that.
  [[nodiscard]] virtual std::unique_ptr<SlotCopy> join(
      const std::vector<const SlotCopy*>& after) = 0;
  // Returns once no copy is under way or waits. Nobody needs them any more, only the memory that
  // they use.
  virtual void settle() = 0;
};

}  // namespace penstock
