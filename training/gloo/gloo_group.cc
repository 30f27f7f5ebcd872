// Messages and gathers move bytes, because Gloo's own list of element types is short; only sums
// need the type. Each group has one thread, so that collectives run in the order in which they were
// started, which is the same on all members. Closing a group has no call in c10d: a receive that
// runs into its time limit makes Gloo close the connections.
//
// A device has a thread that waits for events of its connections. When something arrives while
// another thread holds the connection (it may be sending just then), Gloo's thread passes over it
// and asks the system again, at once, until that thread has let go. Where both share a processor,
// as the threads of a rank do, nobody lets go before the scheduler takes the processor from the one
// that asks: with Linux' ticks of 4 ms nearly every all-reduce took 4 ms. So that thread is a batch
// thread: when it wakes it does not take the processor from one that runs. Whoever sends lets go
// and sleeps soon; whoever computes leaves the processor to it at the next tick, as before.
#include "training/gloo/gloo_group.h"

#include <future>
#include <limits>
#include <stdexcept>

#include <ATen/ops/from_blob.h>
#include <sched.h>

#include "training/gloo/c10d_store.h"

namespace penstock {
namespace {

at::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::kByte:
      return at::kByte;
    case ElementType::kInt64:
      return at::kLong;
    case ElementType::kFloat16:
      return at::kHalf;
    case ElementType::kBFloat16:
      return at::kBFloat16;
    case ElementType::kFloat32:
      return at::kFloat;
    case ElementType::kFloat64:
      return at::kDouble;
  }
  return at::kByte;
}

at::Tensor tensor_at(std::byte* data, std::size_t elements, at::ScalarType type) {
  return at::from_blob(data, {static_cast<std::int64_t>(elements)},
                       at::TensorOptions().dtype(type));
}

}  // namespace

GlooDevice open_device(const GlooOptions& options, const std::string& address) {
  using Group = c10d::ProcessGroupGloo;
  // Threads inherit how they are scheduled from the one that starts them. Where a machine forbids
  // it, messages only take longer.
  const auto open = [&] {
    const sched_param none{};
    (void)::sched_setscheduler(0, SCHED_BATCH, &none);
    return options.network_interface.empty()
               ? Group::createDeviceForHostname(address)
               : Group::createDeviceForInterface(options.network_interface);
  };
  return std::async(std::launch::async, open).get();
}

at::Tensor tensor_of(const Buffer& buffer) {
  return tensor_at(buffer.data, buffer.elements, scalar_type(buffer.type));
}

at::Tensor bytes_in(const Buffer& buffer) {
  return tensor_at(buffer.data, buffer.bytes(), at::kByte);
}

GlooGroup::GlooGroup(const c10::intrusive_ptr<c10d::Store>& store, int position, int size,
                     const GlooDevice& device, Duration limit)
    : position_(position), size_(size) {
  auto options = c10d::ProcessGroupGloo::Options::create(in_milliseconds(limit));
  options->devices = {device};
  options->threads = 1;  // collectives run in order
  group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, position, size, options);
}

GlooWork GlooGroup::send(int to, int tag, const Buffer& buffer) {
  std::vector<at::Tensor> tensors{bytes_in(buffer)};
  return group_->send(tensors, to, tag);
}

GlooWork GlooGroup::receive(int from, int tag, const Buffer& buffer) {
  std::vector<at::Tensor> tensors{bytes_in(buffer)};
  return group_->recv(tensors, from, tag);
}

GlooWork GlooGroup::all_reduce(const at::Tensor& tensor) {
  std::vector<at::Tensor> tensors{tensor};
  return group_->allreduce(tensors);
}

GlooWork GlooGroup::all_gather(const Buffer& buffer) {
  // As bytes, since Gloo's own list of types is short.
  const at::Tensor bytes = bytes_in(buffer);
  std::vector<std::vector<at::Tensor>> parts{bytes.chunk(size_)};
  std::vector<at::Tensor> own{parts[0][static_cast<std::size_t>(position_)]};
  return group_->allgather(parts, own);
}

GlooWork GlooGroup::barrier() { return group_->barrier(); }

void GlooGroup::close() noexcept {
  // c10d has no call for it, but when a wait ends at its time limit Gloo closes all connections of
  // the group: so we wait shortly for a message that nobody sends. From every member, since that of
  // a lost one fails before there is anything to wait for.
  for (int i = 1; i < size_; ++i) {
    try {
      std::byte nothing{};
      Buffer buffer;
      buffer.data = &nothing;
      buffer.elements = 1;
      receive((position_ + i) % size_, std::numeric_limits<int>::max(), buffer)
          ->wait(std::chrono::milliseconds(1));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): as it should be
    }
  }
}

}  // namespace penstock
