#include "simulator/lane_pass.h"

namespace penstock {

TimelineSummary LanePass::summary(std::size_t lane) const {
  std::vector<SimTime> first, last;
  std::vector<Duration> busy;
  first.reserve(ranks_.size());
  last.reserve(ranks_.size());
  busy.reserve(ranks_.size());
  for (const RankLanes& rank : ranks_) {
    first.push_back(rank.computes ? SimTime{Duration{rank.first[lane]}} : SimTime::max());
    last.push_back(SimTime{Duration{std::max(rank.last[lane], rank.now[lane])}});
    busy.emplace_back(rank.busy[lane]);
  }
  return summarize_ranks(first, last, std::move(busy));
}

Lanes LanePass::begin_of(Members member) const {
  Lanes begin{};
  for (bool more = true; more; ++member) {
    begin = later(begin, later(slots_[member->waits_for], slots_[member->previous]));
    more = !member->last;
  }
  return begin;
}

LanePass::Members LanePass::end_for_all(Members member, const Lanes& end) {
  for (bool more = true; more; ++member) {
    RankLanes& rank = ranks_[member->rank];
    rank.last = later(rank.last, end);
    more = !member->last;
  }
  return member;
}

}  // namespace penstock
