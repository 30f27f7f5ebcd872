#include "runtime_bridge/step_signals.h"

namespace penstock {

void StepSignals::begin() {
  for (std::size_t i = 0; i < program_.signals.size(); ++i) {
    const RankSignal& signal = program_.signals[i];
    if (signal.sends) continue;
    awaited_.emplace(signal.action, transport_.receive(signal.peer, signal.tag, byte_of(i)));
  }
}

void StepSignals::wait_for(int action) {
  const auto [first, last] = awaited_.equal_range(action);
  for (auto it = first; it != last; ++it) it->second->wait();
  awaited_.erase(first, last);
}

void StepSignals::has_ended(int action) {
  for (std::size_t i = 0; i < program_.signals.size(); ++i) {
    const RankSignal& signal = program_.signals[i];
    if (!signal.sends || signal.action != action) continue;
    sending_.push_back(transport_.send(signal.peer, signal.tag, byte_of(i)));
  }
}

void StepSignals::wait_for_sends() {
  for (const auto& transfer : sending_) transfer->wait();
  sending_.clear();
}

}  // namespace penstock
