// Max-min fair rates of flows over links with capacities, kept up to date while flows come and go:
// all flows grow alike until a link they pass is full or they have reached their own limit. Only
// flows that share a full link with a change, directly or through others, are worked out anew.
//
// Rates are whole bytes per second and a pure function of the flows that are there; what a division
// leaves over, less than a byte per second and flow, is not given out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

class FairSharing {
 public:
  using Flow = std::uint32_t;  // numbered by the caller, from 0 and without large gaps
  using Link = std::uint32_t;
  using Rate = std::int64_t;  // bytes per second
  static constexpr Link kNoLink = 0xFFFF'FFFFU;

  // `uses` times the flow's rate is taken from the link.
  struct Use {
    Link link = 0;
    std::uint32_t uses = 1;
  };

  // Capacities and limits are at least 1, and a flow's limit times its uses is at most the capacity
  // of every link it passes.
  explicit FairSharing(const std::vector<Rate>& capacities);

  void clear();
  // A flow begins at its limit and may be slowed down by the next rebalance(). `path` stays valid
  // while the flow is there.
  void add(Flow flow, const Use* path, std::size_t length, Rate limit);
  void remove(Flow flow);

  // Calls changed(flow, rate, bottleneck) for every flow whose rate or bottleneck is no longer
  // what it was; kNoLink: it has its limit.
  template <class Changed>
  void rebalance(Changed changed) {
    if (touched_.empty()) return;
    share_out();
    for (const Flow flow : affected_) {
      FlowState& state = flows_[flow];
      if (state.next_rate == state.rate && state.next_bottleneck == state.bottleneck) continue;
      state.rate = state.next_rate;
      state.bottleneck = state.next_bottleneck;
      changed(flow, state.rate, state.bottleneck);
    }
  }

  [[nodiscard]] Rate rate(Flow flow) const { return flows_[flow].rate; }

 private:
  struct FlowState {
    const Use* path = nullptr;
    std::size_t length = 0;
    Rate limit = 0, rate = 0, next_rate = 0;  // next_rate 0: not worked out yet
    Link bottleneck = kNoLink, next_bottleneck = kNoLink;
    bool is_affected = false;
  };
  struct LinkState {
    Rate capacity = 0;
    Rate demand =
        0;  // if every flow had its limit: no more than the capacity, and nobody is slowed
    std::vector<Flow> flows;
    bool is_touched = false;
    Rate left = 0;               // while sharing out
    std::int64_t unsettled = 0;  // uses of flows without a rate
    [[nodiscard]] bool is_full() const { return demand > capacity; }
  };

  void touch(Link link);
  void collect_affected();
  void share_out();
  void settle(Flow flow, Rate rate, Link bottleneck);
  [[nodiscard]] Link tightest() const;

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<Link> touched_;  // by a change since the last rebalance(), then all that this reaches
  std::vector<Flow> affected_;  // flows over touched links
};

}  // namespace penstock
