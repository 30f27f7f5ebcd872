// Codes of NCCL become failures here and nowhere else. Private to training/nccl.
#pragma once

#include <optional>
#include <string>

#include <nccl.h>

namespace penstock {

// ncclSuccess and ncclInProgress pass: communicators do not block. What a peer or the network did
// is TransportFailure, what we did wrong Error{kInternal}. `what` completes "cannot ...".
void check_nccl(ncclResult_t code, const std::string& what, std::optional<int> peer = std::nullopt);

}  // namespace penstock
