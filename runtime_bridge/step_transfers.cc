#include "runtime_bridge/step_transfers.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

bool is_transfer(ActionKind kind) { return is_send(kind) || is_receive(kind); }

}  // namespace

SteadyTime end_of(const Transfer& transfer, const Transport& transport) {
  const auto ended = transfer.ended();
  return ended ? *ended : transport.now();
}

void StepTransfers::begin(StepRecord& record) {
  record_ = &record;
  posted_.assign(actions_.size(), false);
  receiving_.clear();
  receiving_.resize(actions_.size());
  sending_.clear();
}

void StepTransfers::look_ahead(const std::vector<int>& order, std::size_t at) {
  const auto ended = [this](const Send& send) {
    if (!send.transfer->done()) return false;
    end_send(send);
    return true;
  };
  sending_.erase(std::remove_if(sending_.begin(), sending_.end(), ended), sending_.end());

  std::vector<int> receives;
  std::size_t transfers = 0;
  for (std::size_t k = at; k < order.size() && transfers < transfers_ahead_; ++k) {
    const ActionKind kind = action(order[k]).kind;
    if (!is_transfer(kind)) continue;
    ++transfers;
    if (is_receive(kind) && !posted_[static_cast<std::size_t>(order[k])]) {
      receives.push_back(order[k]);
    }
  }
  if (receives.empty()) return;
  transport_.begin_batch();
  for (const int receive : receives) post(receive);
  transport_.end_batch();
}

void StepTransfers::issue(const std::vector<int>& order, std::size_t at, std::size_t end) {
  std::vector<int> together;
  for (std::size_t k = at; k < end && is_transfer(action(order[k]).kind); ++k) {
    if (!posted_[static_cast<std::size_t>(order[k])]) together.push_back(order[k]);
  }
  if (together.empty()) return;
  transport_.begin_batch();
  for (const int transfer : together) post(transfer);
  transport_.end_batch();
}

void StepTransfers::post(int index) {
  const RankAction& transfer = action(index);
  const auto i = static_cast<std::size_t>(index);
  posted_[i] = true;
  record_->start[i] = transport_.now();
  const int stage = transfer.stage, m = transfer.micro_batch;
  switch (transfer.kind) {
    case ActionKind::kReceiveActivation:
      receiving_[i] =
          transport_.receive(transfer.peer, transfer.tag, work_.activation_to_receive(stage, m));
      break;
    case ActionKind::kReceiveGradient:
      receiving_[i] =
          transport_.receive(transfer.peer, transfer.tag, work_.gradient_to_receive(stage, m));
      break;
    case ActionKind::kSendActivation:
      sending_.push_back({index, transport_.send(transfer.peer, transfer.tag,
                                                 work_.activation_to_send(stage, m))});
      break;
    default:
      sending_.push_back(
          {index, transport_.send(transfer.peer, transfer.tag, work_.gradient_to_send(stage, m))});
  }
}

Duration StepTransfers::wait_for(int receive) {
  const auto i = static_cast<std::size_t>(receive);
  if (!posted_[i]) post(receive);
  if (receiving_[i] == nullptr) return Duration{0};  // an earlier action has waited for it
  const SteadyTime begin = transport_.now();
  receiving_[i]->wait();
  record_->end[i] = end_of(*receiving_[i], transport_);
  receiving_[i].reset();
  return transport_.now() - begin;
}

bool StepTransfers::has_arrived(int receive) {
  const auto i = static_cast<std::size_t>(receive);
  if (!posted_[i]) post(receive);
  return receiving_[i] == nullptr || receiving_[i]->done();
}

void StepTransfers::wait_for_send(int index) {
  const auto sent = std::find_if(sending_.begin(), sending_.end(),
                                 [index](const Send& send) { return send.action == index; });
  if (sent == sending_.end()) return;
  sent->transfer->wait();
  end_send(*sent);
  sending_.erase(sent);
}

void StepTransfers::wait_for_sends() {
  for (const Send& send : sending_) {
    send.transfer->wait();
    end_send(send);
  }
  sending_.clear();
}

void StepTransfers::end_send(const Send& send) {
  const RankAction& sent = action(send.action);
  record_->end[static_cast<std::size_t>(send.action)] = end_of(*send.transfer, transport_);
  if (sent.kind == ActionKind::kSendActivation) {
    work_.sent_activation(sent.stage, sent.micro_batch);
  } else {
    work_.sent_gradient(sent.stage, sent.micro_batch);
  }
}

}  // namespace penstock
