// Messages between begin_batch and end_batch are issued in one NCCL group, and collectives one by
// one in the order of their calls. Every communicator does a first transfer when it is made,
// because NCCL connects lazily, and a connection in the middle of a step would wait for a rank that
// does something else.
#include "training/nccl/nccl_transport.h"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "core/values/error.h"
#include "training/cuda/cuda_devices.h"
#include "training/nccl/nccl_operation.h"
#include "training/nccl/nccl_state.h"

namespace penstock {
namespace {

using Kind = NcclOperation::Kind;
using Way = std::pair<int, int>;  // from, to

// It keeps what it needs alive: a Transfer may outlive its Transport.
class NcclTransfer : public Transfer {
 public:
  NcclTransfer(std::shared_ptr<NcclState> state, std::shared_ptr<NcclOperation> operation)
      : state_(std::move(state)), operation_(std::move(operation)) {}

  bool done() override {
    if (ended_) return true;
    use_cuda_device(state_->options().device);
    state_->guarded([&] {
      if (state_->has_ended(*operation_)) ended_ = steady_now();
    });
    return ended_.has_value();
  }

  void wait() override {
    if (ended_) return;
    use_cuda_device(state_->options().device);
    state_->guarded([&] { state_->wait_for(*operation_); });
    ended_ = steady_now();
  }

 private:
  std::shared_ptr<NcclState> state_;
  std::shared_ptr<NcclOperation> operation_;
  std::optional<SteadyTime> ended_;
};

class NcclTransport : public Transport {
 public:
  NcclTransport(const NcclOptions& options, std::unique_ptr<KeyValueStore> store)
      : device_(options.device), state_(std::make_shared<NcclState>(options, std::move(store))) {
    // All ranks follow one order, so no two of them wait for each other in different communicators.
    use_cuda_device(device_);
    for (const Way& way : options.ways) {
      if (way.first == rank() || way.second == rank()) (void)communicator_of(way);
    }
  }
  ~NcclTransport() override { state_->close(); }

  int rank() const override { return state_->options().rank; }
  int size() const override { return state_->options().size; }

  // NCCL knows no tags: the messages of one direction arrive in the order in which they are sent.
  std::unique_ptr<Transfer> send(int to, MessageTag /*tag*/, const Buffer& buffer) override {
    return point_to_point(Kind::kSend, {rank(), to}, to, buffer);
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag /*tag*/, const Buffer& buffer) override {
    return point_to_point(Kind::kReceive, {from, rank()}, from, buffer);
  }

  // Each holds a stream and part of the GPU until its sender is there.
  std::optional<int> most_open_receives() const override { return 1; }

  void begin_batch() override { batching_ = true; }
  void end_batch() override {
    batching_ = false;
    const std::vector<Message> messages = std::exchange(batch_, {});
    if (messages.empty()) return;
    use_cuda_device(device_);
    state_->guarded([&] { issue(messages); });
  }

  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    use_cuda_device(device_);
    state_->guarded([&] {
      groups_.push_back(state_->join("group/" + name, members, std::nullopt));
      warm_up(Kind::kAllReduce, groups_.back(), std::nullopt);
    });
    return {static_cast<int>(groups_.size()) - 1};
  }

  std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer& buffer) override {
    return collective(Kind::kAllReduce, group, buffer);
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer& buffer) override {
    return collective(Kind::kReduceScatter, group, buffer);
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer& buffer) override {
    return collective(Kind::kAllGather, group, buffer);
  }

  void barrier() override {
    if (!everybody_) {
      std::vector<int> ranks;
      ranks.reserve(static_cast<std::size_t>(size()));
      for (int rank = 0; rank < size(); ++rank) ranks.push_back(rank);
      everybody_ = form_group("everybody", ranks);  // whose warm-up is a barrier already
      return;
    }
    std::array<std::byte, 1> nothing{};
    all_reduce(*everybody_, {nothing.data(), nothing.size()})->wait();
  }

  void abort(const std::string& reason) override {
    use_cuda_device(device_);
    state_->fail(std::nullopt, reason);
  }

 private:
  struct Message {
    Way way;
    std::shared_ptr<NcclOperation> operation;
  };

  std::unique_ptr<Transfer> point_to_point(Kind kind, const Way& way, int peer,
                                           const Buffer& buffer) {
    if (peer < 0 || peer >= size() || peer == rank()) {
      throw Error(ErrorKind::kInternal,
                  "rank " + std::to_string(rank()) + " of " + std::to_string(size()) +
                      " cannot exchange a message with rank " + std::to_string(peer));
    }
    use_cuda_device(device_);
    auto operation = std::make_shared<NcclOperation>(kind, buffer, peer, state_->scratch());
    batch_.push_back({way, operation});
    if (!batching_) end_batch();
    return std::make_unique<NcclTransfer>(state_, std::move(operation));
  }

  void issue(const std::vector<Message>& messages) {
    // To connect is to wait for the other side: both sides do it in the order of the directions,
    // and before anything else of the batch.
    std::set<Way> ways;
    for (const Message& message : messages) ways.insert(message.way);
    for (const Way& way : ways) (void)communicator_of(way);
    std::vector<std::shared_ptr<NcclOperation>> operations;
    operations.reserve(messages.size());
    for (const Message& message : messages) {
      message.operation->connect(communicator_of(message.way));
      operations.push_back(message.operation);
    }
    state_->issue(operations);
  }

  std::unique_ptr<Transfer> collective(Kind kind, CommunicatorId group, const Buffer& buffer) {
    use_cuda_device(device_);
    auto operation = std::make_shared<NcclOperation>(kind, buffer, std::nullopt, state_->scratch());
    operation->connect(groups_.at(static_cast<std::size_t>(group.value)));
    state_->guarded([&] { state_->issue({operation}); });
    return std::make_unique<NcclTransfer>(state_, std::move(operation));
  }

  std::shared_ptr<NcclCommunicator> communicator_of(const Way& way) {
    const auto found = ways_.find(way);
    if (found != ways_.end()) return found->second;
    const int peer = way.first == rank() ? way.second : way.first;
    const std::string name = std::to_string(way.first) + "-" + std::to_string(way.second);
    const auto communicator = state_->join("way/" + name, {way.first, way.second}, peer);
    // NCCL connects at the first message, for which it needs both sides: here they both are.
    warm_up(way.first == rank() ? Kind::kSend : Kind::kReceive, communicator, peer);
    return ways_.emplace(way, communicator).first->second;
  }

  void warm_up(Kind kind, const std::shared_ptr<NcclCommunicator>& communicator,
               std::optional<int> peer) {
    std::array<std::byte, 1> nothing{};
    const auto operation = std::make_shared<NcclOperation>(
        kind, Buffer{nothing.data(), nothing.size()}, peer, state_->scratch());
    operation->connect(communicator);
    state_->issue({operation});
    state_->wait_for(*operation);
  }

  int device_;
  std::shared_ptr<NcclState> state_;
  std::map<Way, std::shared_ptr<NcclCommunicator>> ways_;
  std::vector<std::shared_ptr<NcclCommunicator>> groups_;
  std::optional<CommunicatorId> everybody_;
  bool batching_ = false;
  std::vector<Message> batch_;  // that is still open
};

}  // namespace

std::unique_ptr<Transport> make_nccl_transport(const NcclOptions& options,
                                               std::unique_ptr<KeyValueStore> store) {
  (void)cuda_device_at(options.device);
  return std::make_unique<NcclTransport>(options, std::move(store));
}

}  // namespace penstock
