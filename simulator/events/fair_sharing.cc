// Progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): the tightest link gives every
// flow on it the same share, these flows are settled, and the rest of the links go on with what is
// left. Before that, whoever reaches a limit of its own below the smallest share keeps that limit.
// A change touches only flows that are connected to it through full links, so collect_affected()
// grows that set and share_out() fills it alone.
//
// Invariant: after every change the rates are those that filling from nothing would give; divisions
// round down, so no link is ever given out beyond its capacity.
#include "simulator/events/fair_sharing.h"

#include <algorithm>
#include <limits>

namespace penstock {

FairSharing::FairSharing(const std::vector<Rate>& capacities) : links_(capacities.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l].capacity = capacities[l];
}

void FairSharing::clear() {
  for (LinkState& link : links_) {
    link.demand = 0;
    link.flows.clear();
    link.is_touched = false;
  }
  flows_.clear();
  touched_.clear();
  affected_.clear();
}

void FairSharing::add(Flow flow, const Use* path, std::size_t length, Rate limit) {
  if (flow >= flows_.size()) flows_.resize(flow + std::size_t{1});
  FlowState& state = flows_[flow];
  state.path = path;
  state.length = length;
  state.limit = state.rate = limit;
  state.bottleneck = kNoLink;
  for (const Use* use = path; use != path + length; ++use) {
    LinkState& link = links_[use->link];
    link.demand += limit * use->uses;
    link.flows.push_back(flow);
    if (link.is_full()) touch(use->link);
  }
}

void FairSharing::remove(Flow flow) {
  const FlowState& state = flows_[flow];
  for (const Use* use = state.path; use != state.path + state.length; ++use) {
    LinkState& link = links_[use->link];
    if (link.is_full()) touch(use->link);
    link.demand -= state.limit * use->uses;
    *std::find(link.flows.begin(), link.flows.end(), flow) = link.flows.back();
    link.flows.pop_back();
  }
}

void FairSharing::touch(Link link) {
  if (links_[link].is_touched) return;
  links_[link].is_touched = true;
  touched_.push_back(link);
}

// Grows touched_ by every full link that a flow over a touched link passes.
void FairSharing::collect_affected() {
  affected_.clear();
  for (std::size_t t = 0; t < touched_.size(); ++t) {
    for (const Flow flow : links_[touched_[t]].flows) {
      FlowState& state = flows_[flow];
      if (state.is_affected) continue;
      state.is_affected = true;
      affected_.push_back(flow);
      for (const Use* use = state.path; use != state.path + state.length; ++use) {
        if (links_[use->link].is_full()) touch(use->link);
      }
    }
  }
}

FairSharing::Link FairSharing::tightest() const {
  Rate least = std::numeric_limits<Rate>::max();
  Link tightest = kNoLink;
  for (const Link l : touched_) {
    const LinkState& link = links_[l];
    if (link.unsettled == 0) continue;
    const Rate share = link.left / link.unsettled;
    if (share < least || (share == least && l < tightest)) {
      least = share;
      tightest = l;
    }
  }
  return tightest;
}

void FairSharing::settle(Flow flow, Rate rate, Link bottleneck) {
  FlowState& state = flows_[flow];
  state.next_rate = rate;
  state.next_bottleneck = bottleneck;
  for (const Use* use = state.path; use != state.path + state.length; ++use) {
    LinkState& link = links_[use->link];
    if (!link.is_touched) continue;
    link.left -= rate * use->uses;
    link.unsettled -= use->uses;
  }
}

// Fills the links: whoever reaches his limit below the smallest fair share keeps it; when nobody
// does, the flows of the tightest link get that share.
void FairSharing::share_out() {
  collect_affected();
  for (const Link l : touched_) {
    links_[l].left = links_[l].capacity;
    links_[l].unsettled = 0;
  }
  for (const Flow flow : affected_) {
    FlowState& state = flows_[flow];
    state.next_rate = 0;
    state.is_affected = false;
    for (const Use* use = state.path; use != state.path + state.length; ++use) {
      links_[use->link].unsettled += use->uses;
    }
  }
  for (Link link = tightest(); link != kNoLink; link = tightest()) {
    const Rate share = std::max<Rate>(links_[link].left / links_[link].unsettled, 1);
    bool somebody_reached = false;
    for (const Flow flow : affected_) {
      if (flows_[flow].next_rate != 0 || flows_[flow].limit > share) continue;
      settle(flow, flows_[flow].limit, kNoLink);
      somebody_reached = true;
    }
    if (somebody_reached) continue;
    for (const Flow flow : links_[link].flows) {
      if (flows_[flow].next_rate == 0) settle(flow, share, link);
    }
  }
  for (const Link l : touched_) links_[l].is_touched = false;
  touched_.clear();
}

}  // namespace penstock
