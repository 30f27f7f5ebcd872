// How the loopback transport gets bytes from one rank's buffer to another's: memcpy where both are
// in host memory; training/cuda adds copies between buffers on a GPU.
#pragma once

#include <memory>
#include <optional>

#include "training/buffer.h"
#include "training/steady_time.h"

namespace penstock {

// Ranks are threads, so every function is called from several threads at once.
class CopyEngine {
 public:
  // A point in what the stream of a buffer holds.
  class Mark {
   public:
    virtual ~Mark() = default;
  };
  // A copy that may still be under way when copy() has returned.
  class Copy {
   public:
    virtual ~Copy() = default;
    [[nodiscard]] virtual bool done() = 0;
    virtual void wait() = 0;
    // When it ended, if that is known.
    [[nodiscard]] virtual std::optional<SteadyTime> ended() const { return std::nullopt; }
  };

  virtual ~CopyEngine() = default;

  // Called by the buffer's owner when it posts it, before anything else: what its stream holds by
  // now comes before the copy. Nothing for a buffer that needs no order. Error for a buffer that
  // this engine cannot copy.
  [[nodiscard]] virtual std::shared_ptr<Mark> mark(const Buffer& buffer) = 0;

  // Copies from.bytes() bytes, in the thread of either owner or of a third rank, once both marks
  // have been reached. The streams of both buffers wait for the end of the copy. Nothing when it
  // has ended on return.
  [[nodiscard]] virtual std::shared_ptr<Copy> copy(const Buffer& from, const Mark* from_ready,
                                                   const Buffer& to, const Mark* to_ready) = 0;
};

// memcpy; refuses buffers on a GPU.
class HostCopies : public CopyEngine {
 public:
  std::shared_ptr<Mark> mark(const Buffer& buffer) override;
  std::shared_ptr<Copy> copy(const Buffer& from, const Mark* from_ready, const Buffer& to,
                             const Mark* to_ready) override;
};

}  // namespace penstock
