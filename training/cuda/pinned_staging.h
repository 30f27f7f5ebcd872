// Pinned host memory and copies to and from it, for StagedTransport: Gloo between ranks on GPUs.
#pragma once

#include <memory>

#include "training/staged_transport.h"

namespace penstock {

// Error{kMissingResource} when there is no such GPU.
std::unique_ptr<StagingMemory> make_pinned_staging(int device);

}  // namespace penstock
