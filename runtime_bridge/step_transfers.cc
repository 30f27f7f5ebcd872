// Receives are posted ahead of their place in the list, as many per sender as there is room for,
// and always in the order in which the sender sends: messages between two ranks have no other name
// than their order. A receive that is needed now is posted with all that come before it from the
// same sender, whatever the room. Invariant: a message is posted once and waited for once.
#include "runtime_bridge/step_transfers.h"

#include <algorithm>

#include "core/values/action_rules.h"

namespace penstock {
namespace {

bool is_transfer(ActionKind kind) { return is_send(kind) || is_receive(kind); }

}  // namespace

SteadyTime end_of(const Transfer& transfer, const Transport& transport) {
  const auto ended = transfer.ended();
  return ended ? *ended : transport.now();
}

SteadyTime wait_for_all(std::vector<std::unique_ptr<Transfer>>& transfers,
                        const Transport& transport, SteadyTime since) {
  SteadyTime end = since;
  for (const auto& transfer : transfers) {
    transfer->wait();
    end = std::max(end, end_of(*transfer, transport));
  }
  transfers.clear();
  return end;
}

void StepTransfers::begin(StepRecord& record) {
  record_ = &record;
  posted_.assign(actions_.size(), false);
  receiving_.clear();
  receiving_.resize(actions_.size());
  sending_.clear();
  late_.clear();
}

// Messages of one rank arrive in the order in which they are sent, so a receive from it is posted
// only after all that come before.
std::map<int, int> StepTransfers::open_receives() const {
  std::map<int, int> open;
  if (!most_open_) return open;
  for (std::size_t i = 0; i < receiving_.size(); ++i) {
    if (receiving_[i] != nullptr && !receiving_[i]->done()) ++open[actions_[i].peer];
  }
  return open;
}

bool StepTransfers::has_room(int receive, std::map<int, int>& open) const {
  return !most_open_ || ++open[action(receive).peer] <= *most_open_;
}

// Those whose place has passed come before all others.
std::vector<int> StepTransfers::late_with_room(std::map<int, int>& open) {
  std::vector<int> receives;
  std::erase_if(late_, [&](int receive) {
    if (posted_[static_cast<std::size_t>(receive)]) return true;
    if (!has_room(receive, open)) return false;
    receives.push_back(receive);
    return true;
  });
  return receives;
}

void StepTransfers::post_together(const std::vector<int>& transfers) {
  if (transfers.empty()) return;
  transport_.begin_batch();
  for (const int transfer : transfers) post(transfer);
  transport_.end_batch();
}

void StepTransfers::look_ahead(const std::vector<int>& order, std::size_t at) {
  const auto ended = [this](const Send& send) {
    if (!send.transfer->done()) return false;
    end_send(send);
    return true;
  };
  sending_.erase(std::remove_if(sending_.begin(), sending_.end(), ended), sending_.end());

  std::map<int, int> open = open_receives();
  std::vector<int> receives = late_with_room(open);
  std::size_t transfers = 0;
  for (std::size_t k = at; k < order.size() && transfers < transfers_ahead_; ++k) {
    const ActionKind kind = action(order[k]).kind;
    if (!is_transfer(kind)) continue;
    ++transfers;
    if (is_receive(kind) && !posted_[static_cast<std::size_t>(order[k])] &&
        std::ranges::find(receives, order[k]) == receives.end() && has_room(order[k], open)) {
      receives.push_back(order[k]);
    }
  }
  post_together(receives);
}

void StepTransfers::issue(const std::vector<int>& order, std::size_t at, std::size_t end) {
  std::map<int, int> open = open_receives();
  std::vector<int> together = late_with_room(open);
  for (std::size_t k = at; k < end && is_transfer(action(order[k]).kind); ++k) {
    const int transfer = order[k];
    if (posted_[static_cast<std::size_t>(transfer)] ||
        std::ranges::find(together, transfer) != together.end()) {
      continue;
    }
    if (is_send(action(transfer).kind) || has_room(transfer, open)) {
      together.push_back(transfer);
    } else if (std::ranges::find(late_, transfer) == late_.end()) {
      late_.push_back(transfer);
    }
  }
  post_together(together);
}

void StepTransfers::post(int index) {
  const RankAction& transfer = action(index);
  const auto i = static_cast<std::size_t>(index);
  posted_[i] = true;
  record_->start[i] = transport_.now();
  const int stage = transfer.stage, m = transfer.micro_batch;
  const bool gradient = rule_of(transfer.kind).transfer.gradient;
  if (is_receive(transfer.kind)) {
    const Buffer buffer =
        gradient ? work_.gradient_to_receive(stage, m) : work_.activation_to_receive(stage, m);
    receiving_[i] = transport_.receive(transfer.peer, transfer.tag, buffer);
  } else {
    const Buffer buffer =
        gradient ? work_.gradient_to_send(stage, m) : work_.activation_to_send(stage, m);
    sending_.push_back({index, transport_.send(transfer.peer, transfer.tag, buffer)});
  }
}

// It is needed now, whatever room there is; its sender sends what comes before it first.
void StepTransfers::post_with_earlier(int receive) {
  std::vector<int> receives;
  for (const int late : late_) {
    if (late == receive) break;
    const bool is_of_sender = action(late).peer == action(receive).peer;
    if (is_of_sender && !posted_[static_cast<std::size_t>(late)]) receives.push_back(late);
  }
  receives.push_back(receive);
  post_together(receives);
}

Duration StepTransfers::wait_for(int receive) {
  const auto i = static_cast<std::size_t>(receive);
  if (!posted_[i]) post_with_earlier(receive);
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
  if (rule_of(sent.kind).transfer.gradient) {
    work_.sent_gradient(sent.stage, sent.micro_batch);
  } else {
    work_.sent_activation(sent.stage, sent.micro_batch);
  }
}

}  // namespace penstock
