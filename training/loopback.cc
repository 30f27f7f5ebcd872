// The classes here are thin: a LoopbackTransport is a rank's view of the hub, and transfers hold
// what they have posted there until they are destroyed. All waiting, matching and summing happens
// in LoopbackHub::State under its lock.
#include "training/loopback.h"

#include <optional>
#include <utility>
#include <vector>

#include "training/loopback_hub.h"

namespace penstock {
namespace {

using HubState = LoopbackHub::State;

class MessageTransfer : public Transfer {
 public:
  MessageTransfer(std::shared_ptr<HubState> hub, int rank, HubState::Post post)
      : hub_(std::move(hub)), rank_(rank), post_(std::move(post)) {}
  ~MessageTransfer() override { hub_->drop(post_); }
  MessageTransfer(const MessageTransfer&) = delete;
  MessageTransfer& operator=(const MessageTransfer&) = delete;

  bool done() override { return hub_->done(rank_, post_); }
  void wait() override { hub_->wait(rank_, post_); }
  [[nodiscard]] std::optional<SteadyTime> ended() const override { return hub_->ended(post_); }

 private:
  std::shared_ptr<HubState> hub_;
  int rank_;
  HubState::Post post_;
};

class CollectiveTransfer : public Transfer {
 public:
  CollectiveTransfer(std::shared_ptr<HubState> hub, int rank, HubState::Collective collective)
      : hub_(std::move(hub)), rank_(rank), collective_(std::move(collective)) {}
  ~CollectiveTransfer() override { hub_->drop(rank_, collective_); }
  CollectiveTransfer(const CollectiveTransfer&) = delete;
  CollectiveTransfer& operator=(const CollectiveTransfer&) = delete;

  bool done() override { return hub_->done(rank_, collective_); }
  void wait() override { hub_->wait(rank_, collective_); }
  [[nodiscard]] std::optional<SteadyTime> ended() const override {
    return hub_->ended(collective_);
  }

 private:
  std::shared_ptr<HubState> hub_;
  int rank_;
  HubState::Collective collective_;
};

class LoopbackTransport : public Transport {
 public:
  LoopbackTransport(std::shared_ptr<HubState> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return hub_->ranks(); }

  std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
    return message(to, tag, true, buffer);
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
    return message(from, tag, false, buffer);
  }

  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    return hub_->form_group(rank_, name, members);
  }
  std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer& buffer) override {
    return join(group, GroupCall::kAllReduce, buffer);
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer& buffer) override {
    return join(group, GroupCall::kReduceScatter, buffer);
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer& buffer) override {
    return join(group, GroupCall::kAllGather, buffer);
  }
  [[nodiscard]] SteadyTime now() const override { return hub_->now(); }
  void barrier() override { join(hub_->all_ranks(), GroupCall::kBarrier, {})->wait(); }

  void abort(const std::string& reason) override { hub_->abort(rank_, reason); }

 private:
  std::unique_ptr<Transfer> message(int peer, MessageTag tag, bool sends, const Buffer& buffer) {
    return std::make_unique<MessageTransfer>(hub_, rank_,
                                             hub_->post(rank_, peer, tag, sends, buffer));
  }
  std::unique_ptr<Transfer> join(CommunicatorId group, GroupCall kind, const Buffer& buffer) {
    return std::make_unique<CollectiveTransfer>(hub_, rank_,
                                                hub_->join(rank_, group, kind, buffer));
  }

  std::shared_ptr<HubState> hub_;
  int rank_;
};

}  // namespace

LoopbackHub::LoopbackHub(int ranks, const LoopbackOptions& options)
    : state_(std::make_shared<State>(ranks, options)) {}
LoopbackHub::~LoopbackHub() = default;

std::unique_ptr<Transport> LoopbackHub::transport(int rank) {
  return std::make_unique<LoopbackTransport>(state_, rank);
}

}  // namespace penstock
