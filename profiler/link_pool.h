// Memory that messages come from and go to while links are measured (profiler/measure_links.h).
#pragma once

#include <memory>

#include "core/values/units.h"
#include "training/buffer.h"

namespace penstock {

struct LinkPool {
  Buffer buffer;                 // of float32
  std::shared_ptr<void> memory;  // keeps it
};

// Twice the largest message, and at least what is larger than the caches.
Bytes link_pool_bytes(Bytes largest_message);

// In host memory, touched.
LinkPool make_host_pool(Bytes bytes);

}  // namespace penstock
