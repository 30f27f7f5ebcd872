#include "training/nccl/nccl_communicator.h"

#include <utility>

#include "training/nccl/check_nccl.h"

namespace penstock {

NcclCommunicator::NcclCommunicator(const ncclUniqueId& id, int rank, int size, std::string name,
                                   std::optional<int> most_ctas)
    : rank_(rank), size_(size), name_(std::move(name)) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // one that blocks cannot be aborted
  if (most_ctas) config.maxCTAs = *most_ctas;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  config.commName = name_.c_str();  // in what NCCL_DEBUG prints
#endif
  check_nccl(ncclCommInitRankConfig(&communicator_, size, id, rank, &config),
             "join the communicator " + name_);
}

NcclCommunicator::~NcclCommunicator() { abort(); }

bool NcclCommunicator::ready() {
  ncclResult_t state = ncclSuccess;
  check_nccl(ncclCommGetAsyncError(communicator_, &state), "ask for the state of " + name_);
  check_nccl(state, "go on with " + name_);
  return state == ncclSuccess;
}

void NcclCommunicator::abort() noexcept {
  if (communicator_ != nullptr) (void)ncclCommAbort(communicator_);
  communicator_ = nullptr;
}

void NcclCommunicator::finalize() {
  check_nccl(ncclCommFinalize(communicator_), "end the communicator " + name_);
}

void NcclCommunicator::destroy() noexcept {
  if (communicator_ != nullptr) (void)ncclCommDestroy(communicator_);
  communicator_ = nullptr;
}

}  // namespace penstock
