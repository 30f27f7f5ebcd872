// The identity of a communicator as bytes again. Private to training/nccl.
#pragma once

#include <string>

#include <nccl.h>

namespace penstock {

std::string text_of(const ncclUniqueId& id);
// Error{kInternal} for a text that text_of() did not make.
ncclUniqueId nccl_id_of(const std::string& text);

}  // namespace penstock
