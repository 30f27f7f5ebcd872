// One transfer or collective from its call to its end. Private to training/nccl.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <nccl.h>

#include "training/buffer.h"
#include "training/cuda/cuda_stream.h"
#include "training/nccl/nccl_communicator.h"
#include "training/nccl/nccl_scratch.h"

namespace penstock {

ncclDataType_t nccl_type_of(ElementType type);

class NcclOperation {
 public:
  enum class Kind { kSend, kReceive, kAllReduce, kReduceScatter, kAllGather };

  // `peer` is a rank of the job; absent for collectives. What the buffer's stream holds by now
  // comes before the operation.
  NcclOperation(Kind kind, const Buffer& buffer, std::optional<int> peer,
                std::shared_ptr<NcclScratch> scratch);
  ~NcclOperation();
  NcclOperation(const NcclOperation&) = delete;
  NcclOperation& operator=(const NcclOperation&) = delete;

  // In this order; call() between ncclGroupStart and ncclGroupEnd, after_call() once the
  // communicator is ready.
  void connect(std::shared_ptr<NcclCommunicator> communicator);
  void before_call();
  void call();
  void after_call();

  [[nodiscard]] bool has_ended() const { return done_->has_passed(); }
  // What is left to do on the host then.
  void finish();

  [[nodiscard]] NcclCommunicator& communicator() { return *communicator_; }
  [[nodiscard]] std::optional<int> peer() const { return peer_; }
  [[nodiscard]] std::string words() const;  // "receive 4096 bytes"
  [[nodiscard]] bool is_issued() const { return issued_; }

 private:
  [[nodiscard]] bool reads() const { return kind_ != Kind::kReceive; }
  [[nodiscard]] bool writes() const { return kind_ != Kind::kSend; }
  void take_way_through_device();

  Kind kind_;
  std::shared_ptr<NcclCommunicator> communicator_;
  Buffer buffer_;
  std::optional<int> peer_;
  std::byte* data_ = nullptr;  // on the device
  // Of a buffer in host memory: copies of it. A copy from or to memory that is not pinned would
  // block the calling thread until the peer answers.
  NcclScratch::Block copies_;
  std::shared_ptr<NcclScratch> scratch_;
  std::unique_ptr<CudaEvent> begin_, done_;
  bool issued_ = false, finished_ = false;
};

}  // namespace penstock
