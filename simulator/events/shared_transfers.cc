#include "simulator/events/shared_transfers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

FairSharing::Rate whole_rate(double bytes_per_s) {
  constexpr double kMost = 1e15;  // beyond any wire; sums of many stay within 64 bits
  return static_cast<FairSharing::Rate>(std::clamp(bytes_per_s, 1.0, kMost));
}

std::vector<FairSharing::Rate> capacities_of(const Network& network) {
  std::vector<FairSharing::Rate> capacities;
  capacities.reserve(network.links.size());
  for (const NetworkLink& link : network.links)
    capacities.push_back(whole_rate(link.capacity.value));
  return capacities;
}

}  // namespace

SharedTransfers::SharedTransfers(const Network& network)
    : sharing_(capacities_of(network)), delay_(network.links.size(), 0.0) {
  const std::vector<FairSharing::Rate> capacities = capacities_of(network);
  route_begin_.push_back(0);
  for (const Route& route : network.routes) {
    FairSharing::Rate limit = std::numeric_limits<FairSharing::Rate>::max();
    for (const Hop& hop : route.hops) {
      uses_.push_back({hop.link, hop.flows});
      limit = std::min(limit, std::max<FairSharing::Rate>(capacities[hop.link] / hop.flows, 1));
    }
    route_begin_.push_back(uses_.size());
    route_limit_.push_back(limit);
  }
}

void SharedTransfers::clear() {
  sharing_.clear();
  std::fill(delay_.begin(), delay_.end(), 0.0);
}

void SharedTransfers::begin(Slot slot, std::uint32_t route, double bytes, Time alone, Time now,
                            EventQueue& queue) {
  if (slot >= transfers_.size()) transfers_.resize(slot + std::size_t{1});
  const auto work = static_cast<double>(alone);
  const FairSharing::Rate limit = std::min(route_limit_[route], whole_rate(bytes * 1e9 / work));
  transfers_[slot] = {work, 1.0, static_cast<double>(limit), now, FairSharing::kNoLink};
  sharing_.add(slot, uses_.data() + route_begin_[route],
               route_begin_[route + 1] - route_begin_[route], limit);
  queue.set(slot, now + alone);
}

void SharedTransfers::end(Slot slot, Time now) {
  bring_up_to(transfers_[slot], now);
  sharing_.remove(slot);
}

void SharedTransfers::rebalance(Time now, EventQueue& queue) {
  sharing_.rebalance([&](FairSharing::Flow flow, FairSharing::Rate rate, FairSharing::Link link) {
    Transfer& transfer = transfers_[flow];
    bring_up_to(transfer, now);
    transfer.slowdown = transfer.limit / static_cast<double>(rate);
    transfer.bottleneck = link;
    const Duration left = round_up_nearly(std::max(0.0, transfer.work) * transfer.slowdown);
    queue.set(flow, now + left.count());
  });
}

void SharedTransfers::bring_up_to(Transfer& transfer, Time now) {
  const auto elapsed = static_cast<double>(now - transfer.since);
  const double done = elapsed / transfer.slowdown;
  transfer.work -= done;
  transfer.since = now;
  if (transfer.bottleneck != FairSharing::kNoLink) delay_[transfer.bottleneck] += elapsed - done;
}

std::vector<Duration> SharedTransfers::delays() const {
  std::vector<Duration> delays;
  delays.reserve(delay_.size());
  for (const double delay : delay_) delays.emplace_back(std::llround(delay));
  return delays;
}

}  // namespace penstock
