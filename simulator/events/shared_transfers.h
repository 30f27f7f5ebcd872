// Transfers under way on shared links: each has its latency first, then its bytes flow at the
// max-min fair rate, never faster than alone. Tells an EventQueue when each of them ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/network.h"
#include "core/values/units.h"
#include "simulator/events/event_queue.h"
#include "simulator/events/fair_sharing.h"

namespace penstock {

class SharedTransfers {
 public:
  using Slot = EventQueue::Slot;
  using Time = EventQueue::Time;

  explicit SharedTransfers(const Network& network);

  void clear();
  // `bytes` that take `alone` ns once they flow (both positive) begin to do so.
  void begin(Slot slot, std::uint32_t route, double bytes, Time alone, Time now, EventQueue& queue);
  void end(Slot slot, Time now);
  // After everything that happens at `now`: moves the ends of those that got faster or slower.
  void rebalance(Time now, EventQueue& queue);

  // How much longer transfers took because a link was full, summed per link of the network.
  [[nodiscard]] std::vector<Duration> delays() const;

 private:
  // A transfer that has `work` ns to go at its own speed and goes `slowdown` times slower.
  struct Transfer {
    double work = 0.0, slowdown = 1.0, limit = 0.0;
    Time since = 0;
    FairSharing::Link bottleneck = FairSharing::kNoLink;
  };
  void bring_up_to(Transfer& transfer, Time now);

  std::vector<FairSharing::Use> uses_;  // of all routes
  std::vector<std::size_t> route_begin_;
  std::vector<FairSharing::Rate> route_limit_;  // what one flow of the route can have at most
  FairSharing sharing_;
  std::vector<Transfer> transfers_;  // by slot
  std::vector<double> delay_;        // by link
};

}  // namespace penstock
