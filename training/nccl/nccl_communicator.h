// One communicator of NCCL with its stream. Private to training/nccl.
//
// Calls of one process into NCCL are made by one thread at a time: whoever holds the transport's
// mutex. None of them blocks for long.
#pragma once

#include <optional>
#include <string>

#include <nccl.h>

#include "training/cuda/cuda_stream.h"

namespace penstock {

class NcclCommunicator {
 public:
  // Begins to join; ready() says when it is done.
  // `most_ctas`: that its kernels may occupy; nothing: as NCCL chooses.
  NcclCommunicator(const ncclUniqueId& id, int rank, int size, std::string name,
                   std::optional<int> most_ctas);
  // Aborts, unless it was closed.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Whether everything issued so far is on the stream. Throws what went wrong since.
  [[nodiscard]] bool ready();
  void abort() noexcept;
  // Begins to end it in an orderly way; ready() says when destroy() may be called.
  void finalize();
  void destroy() noexcept;

  [[nodiscard]] ncclComm_t get() const { return communicator_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int rank_, size_;
  std::string name_;
  CudaStream stream_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace penstock
