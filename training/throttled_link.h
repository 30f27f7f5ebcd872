// A SlotLink in host memory: the "device" is a part of it that is accounted for, and the link a
// thread that copies no faster than it is told.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/values/units.h"
#include "training/slot_link.h"

namespace penstock {

struct ThrottledLinkOptions {
  std::optional<BytesPerSecond> bandwidth;  // per direction; nothing: as fast as memory is
  bool duplex = true;                       // else both directions share one lane
  std::function<void()> begin_thread{};     // called by every thread of the link first
};

// Its threads run where the calling thread may.
std::unique_ptr<SlotLink> make_throttled_link(const ThrottledLinkOptions& options);

}  // namespace penstock
