#include "training/copy_engine.h"

#include <cstring>

#include "core/values/error.h"

namespace penstock {

std::shared_ptr<CopyEngine::Mark> HostCopies::mark(const Buffer& buffer) {
  if (buffer.on_device) {
    throw Error(ErrorKind::kMissingResource,
                "a loopback transport for ranks on the CPU was given a buffer on a GPU; give the "
                "hub the copy engine of training/cuda");
  }
  return nullptr;
}

std::shared_ptr<CopyEngine::Copy> HostCopies::copy(const Buffer& from, const Mark* /*from_ready*/,
                                                   const Buffer& to, const Mark* /*to_ready*/) {
  if (from.bytes() > 0) std::memcpy(to.data, from.data, from.bytes());
  return nullptr;
}

}  // namespace penstock
