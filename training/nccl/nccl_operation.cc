// Life of an operation: before_call makes NCCL's stream wait for the data (or copies host memory to
// the device through a pinned block), call issues it, after_call records the event that ends it,
// finish copies results back. A block that NCCL may still write to is not given back to the scratch
// memory.
#include "training/nccl/nccl_operation.h"

#include <cstring>
#include <utility>

#include "core/values/error.h"
#include "training/cuda/check_cuda.h"
#include "training/nccl/check_nccl.h"

namespace penstock {

ncclDataType_t nccl_type_of(ElementType type) {
  switch (type) {
    case ElementType::kByte:
      return ncclUint8;
    case ElementType::kInt64:
      return ncclInt64;
    case ElementType::kFloat16:
      return ncclFloat16;
    case ElementType::kBFloat16:
      return ncclBfloat16;
    case ElementType::kFloat32:
      return ncclFloat32;
    case ElementType::kFloat64:
      return ncclFloat64;
  }
  throw Error(ErrorKind::kInternal, "no such element type");
}

NcclOperation::NcclOperation(Kind kind, const Buffer& buffer, std::optional<int> peer,
                             std::shared_ptr<NcclScratch> scratch)
    : kind_(kind),
      buffer_(buffer),
      peer_(peer),
      data_(buffer.data),
      scratch_(std::move(scratch)),
      begin_(scratch_->take_event()),
      done_(scratch_->take_event()) {
  if (buffer.on_device) begin_->record(stream_of(buffer));
}

void NcclOperation::connect(std::shared_ptr<NcclCommunicator> communicator) {
  communicator_ = std::move(communicator);
  const bool divides = kind_ == Kind::kReduceScatter || kind_ == Kind::kAllGather;
  const auto members = static_cast<std::size_t>(communicator_->size());
  if (divides && buffer_.elements % members != 0) {
    throw Error(ErrorKind::kInternal, words() + ": " + std::to_string(buffer_.elements) +
                                          " elements do not divide by the " +
                                          std::to_string(members) + " members of " +
                                          communicator_->name());
  }
  if (!buffer_.on_device) take_way_through_device();
}

NcclOperation::~NcclOperation() {
  scratch_->give_back(std::move(begin_));
  scratch_->give_back(std::move(done_));
  // Else NCCL may still write there.
  if (copies_.bytes > 0 && (finished_ || !issued_)) scratch_->give_back(copies_);
}

void NcclOperation::take_way_through_device() {
  copies_ = scratch_->take_block(buffer_.bytes());
  data_ = copies_.device;
}

void NcclOperation::before_call() {
  if (buffer_.on_device) return begin_->hold_back(communicator_->stream());
  if (!reads()) return;
  std::memcpy(copies_.pinned, buffer_.data, buffer_.bytes());
  check_cuda(cudaMemcpyAsync(copies_.device, copies_.pinned, buffer_.bytes(),
                             cudaMemcpyHostToDevice, communicator_->stream()),
             "copy to the device: " + words());
}

void NcclOperation::call() {
  const ncclDataType_t type = nccl_type_of(buffer_.type);
  const ncclComm_t comm = communicator_->get();
  const cudaStream_t stream = communicator_->stream();
  const int other = 1 - communicator_->rank();  // of two
  const auto members = static_cast<std::size_t>(communicator_->size());
  const std::size_t part = buffer_.elements / members;
  std::byte* const own =
      data_ + static_cast<std::size_t>(communicator_->rank()) * part * bytes_of(buffer_.type);
  switch (kind_) {
    case Kind::kSend:
      return check_nccl(ncclSend(data_, buffer_.elements, type, other, comm, stream), words(),
                        peer_);
    case Kind::kReceive:
      return check_nccl(ncclRecv(data_, buffer_.elements, type, other, comm, stream), words(),
                        peer_);
    case Kind::kAllReduce:
      return check_nccl(ncclAllReduce(data_, data_, buffer_.elements, type, ncclSum, comm, stream),
                        words());
    case Kind::kReduceScatter:
      return check_nccl(ncclReduceScatter(data_, own, part, type, ncclSum, comm, stream), words());
    case Kind::kAllGather:
      return check_nccl(ncclAllGather(own, data_, part, type, comm, stream), words());
  }
}

void NcclOperation::after_call() {
  if (copies_.bytes > 0 && writes()) {
    check_cuda(cudaMemcpyAsync(copies_.pinned, copies_.device, buffer_.bytes(),
                               cudaMemcpyDeviceToHost, communicator_->stream()),
               "copy from the device: " + words());
  }
  done_->record(communicator_->stream());
  issued_ = true;
}

void NcclOperation::finish() {
  finished_ = true;
  if (copies_.bytes > 0 && writes()) {
    std::memcpy(buffer_.data, copies_.pinned, buffer_.bytes());
  }
}

std::string NcclOperation::words() const {
  std::string bytes = std::to_string(buffer_.bytes()) + " bytes";
  switch (kind_) {
    case Kind::kSend:
      return "send " + bytes;
    case Kind::kReceive:
      return "receive " + bytes;
    case Kind::kAllReduce:
      return "all-reduce " + bytes;
    case Kind::kReduceScatter:
      return "reduce-scatter " + bytes;
    case Kind::kAllGather:
      return "all-gather " + bytes;
  }
  return bytes;
}

}  // namespace penstock
