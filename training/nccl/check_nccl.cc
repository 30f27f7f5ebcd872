#include "training/nccl/check_nccl.h"

#include "core/values/error.h"
#include "training/transport.h"

namespace penstock {

void check_nccl(ncclResult_t code, const std::string& what, std::optional<int> peer) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  std::string text = "NCCL: cannot " + what;
  if (peer) text += " (rank " + std::to_string(*peer) + ")";
  text += std::string(": ") + ncclGetErrorString(code);
  const char* const detail = ncclGetLastError(nullptr);
  if (detail != nullptr && *detail != 0) text += std::string(": ") + detail;
  if (code == ncclInvalidArgument || code == ncclInvalidUsage) {
    throw Error(ErrorKind::kInternal, text);
  }
  throw TransportFailure(peer, text);
}

}  // namespace penstock
