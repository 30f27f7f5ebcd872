// A micro-batch passes through hops: neighbouring stages of one rank together, first forwards, then
// backwards. In every cycle a rank takes the oldest micro-batch that waits at each of its hops,
// backwards and forwards in turn, each by (micro-batch, hop); what they make is there in the next
// cycle. Only the order counts: a replay runs every action as soon as its input is there.
//
// Every hop sees the micro-batches in their order, so two counters say what waits there. Invariant
// of `memory`: a rank has room for all that is let in. The oldest micro-batch under way is the only
// one wherever it is not yet let in, so it always goes on and the cycles end.
//
// On one stage per rank that is 1F1B with up to 2 (P - r) - 1 micro-batches in flight instead of
// P - r: the next forward need not wait for the backward that comes back from the last rank.
#include "simulator/schedules/cyclic.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/values/error.h"
#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Neighbouring stages of one rank, in one direction.
struct Hop {
  int first = 0, end = 0;  // stages
  int rank = 0;
  bool forward = true;
  int arrived = 0, done = 0;  // micro-batches
  int arriving = 0;           // with the next cycle

  [[nodiscard]] bool waits() const { return done < arrived; }
};

std::vector<Hop> hops_of(std::span<const int> rank_of_stage) {
  std::vector<Hop> hops;
  const int stages = static_cast<int>(rank_of_stage.size());
  for (int s = 0; s < stages; ++s) {
    const int rank = rank_of_stage[static_cast<std::size_t>(s)];
    if (hops.empty() || hops.back().rank != rank) hops.push_back({s, s, rank});
    hops.back().end = s + 1;
  }
  for (std::size_t h = hops.size(); h-- > 0;) {
    Hop back = hops[h];
    back.forward = false;
    hops.push_back(back);
  }
  return hops;
}

class Cycles {
 public:
  Cycles(std::span<const int> rank_of_stage, int ranks, int micro_batches,
         const CyclicMemory* memory)
      : hops_(hops_of(rank_of_stage)),
        micro_batches_(micro_batches),
        memory_(memory),
        of_rank_(static_cast<std::size_t>(ranks)),
        held_(of_rank_.size(), 0),
        let_in_(of_rank_.size(), 0) {
    for (std::size_t h = 0; h < hops_.size(); ++h) {
      of_rank_[static_cast<std::size_t>(hops_[h].rank)].push_back(h);
    }
    hops_.front().arrived = micro_batches;
    reserve(rank_of_stage);
    if (memory_ != nullptr) add_up_taken(rank_of_stage);
  }

  CyclicLists run() {
    for (int cycle = 0; hops_.back().done < micro_batches_; ++cycle) {
      bool ran = false;
      for (std::size_t rank = 0; rank < of_rank_.size(); ++rank) ran |= run_cycle(rank, cycle);
      if (!ran) throw Error(ErrorKind::kInternal, "cyclic: nothing can run");
      for (Hop& hop : hops_) {
        hop.arrived += hop.arriving;
        hop.arriving = 0;
      }
    }
    return std::move(result_);
  }

 private:
  void reserve(std::span<const int> rank_of_stage) {
    result_.lists.resize(of_rank_.size());
    result_.cycle.resize(of_rank_.size());
    std::vector<std::size_t> actions(of_rank_.size(), 0);
    for (const int rank : rank_of_stage) {
      actions[static_cast<std::size_t>(rank)] += 2 * static_cast<std::size_t>(micro_batches_);
    }
    for (std::size_t rank = 0; rank < actions.size(); ++rank) {
      result_.lists[rank].reserve(actions[rank]);
      result_.cycle[rank].reserve(actions[rank]);
    }
  }

  // What a micro-batch takes on all stages of a rank.
  void add_up_taken(std::span<const int> rank_of_stage) {
    const auto count = static_cast<std::size_t>(micro_batches_);
    taken_.assign(of_rank_.size() * count, 0);
    for (std::size_t s = 0; s < rank_of_stage.size(); ++s) {
      const std::size_t of_rank = static_cast<std::size_t>(rank_of_stage[s]) * count;
      for (std::size_t m = 0; m < count; ++m) taken_[of_rank + m] += memory_->taken[s * count + m];
    }
  }

  bool run_cycle(std::size_t rank, int cycle) {
    collect(rank);
    bool ran = false;
    for (std::size_t i = 0; i < std::max(backwards_.size(), forwards_.size()); ++i) {
      if (i < backwards_.size()) ran |= run_hop(rank, backwards_[i], cycle);
      if (i < forwards_.size()) ran |= run_hop(rank, forwards_[i], cycle);
    }
    return ran;
  }

  // The hops of a rank at which something waits, by (micro-batch, hop): a few, so that each goes
  // straight to its place.
  void collect(std::size_t rank) {
    forwards_.clear();
    backwards_.clear();
    for (const std::size_t h : of_rank_[rank]) {
      if (!hops_[h].waits()) continue;
      std::vector<std::size_t>& list = hops_[h].forward ? forwards_ : backwards_;
      auto at = list.end();
      while (at != list.begin() && hops_[*(at - 1)].done > hops_[h].done) --at;
      list.insert(at, h);
    }
  }

  bool run_hop(std::size_t rank, std::size_t h, int cycle) {
    Hop& hop = hops_[h];
    const int m = hop.done;
    if (hop.forward && !let_in(rank, m)) return false;
    if (!hop.forward && memory_ != nullptr) held_[rank] -= taken_by(hop, m);
    for (int i = 0; i < hop.end - hop.first; ++i) {
      const int stage = hop.forward ? hop.first + i : hop.end - 1 - i;
      result_.lists[rank].push_back(
          {hop.forward ? ActionKind::kForward : ActionKind::kFusedBackward, false,
           StageId{static_cast<std::uint16_t>(stage)},
           MicroBatchId{static_cast<std::uint32_t>(m)}});
      result_.cycle[rank].push_back(cycle);
    }
    ++hop.done;
    if (h + 1 < hops_.size()) ++hops_[h + 1].arriving;
    return true;
  }

  bool let_in(std::size_t rank, int m) {
    if (memory_ == nullptr || m < let_in_[rank]) return true;
    const std::int64_t all =
        taken_[rank * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(m)];
    if (held_[rank] > 0 && held_[rank] + all > memory_->room[rank]) return false;
    held_[rank] += all;
    let_in_[rank] = m + 1;
    return true;
  }

  [[nodiscard]] std::int64_t taken_by(const Hop& hop, int m) const {
    std::int64_t sum = 0;
    for (int s = hop.first; s < hop.end; ++s) {
      sum += memory_->taken[static_cast<std::size_t>(s) * static_cast<std::size_t>(micro_batches_) +
                            static_cast<std::size_t>(m)];
    }
    return sum;
  }

  std::vector<Hop> hops_;
  int micro_batches_;
  const CyclicMemory* memory_;
  std::vector<std::vector<std::size_t>> of_rank_;  // hops
  std::vector<std::int64_t> taken_;                // [rank][micro-batch]
  std::vector<std::int64_t> held_;                 // per rank, for what is let in
  std::vector<int> let_in_;                        // per rank
  std::vector<std::size_t> forwards_, backwards_;  // of the rank at hand
  CyclicLists result_;
};

// Without limits of memory hop h runs micro-batch c - h in cycle c. So what a rank does in a cycle
// changes only when its hops begin or end, and in between repeats one micro-batch further.
class RolledCycles {
 public:
  RolledCycles(const ScheduleKind& kind, const ScheduleShape& shape)
      : hops_(hops_of(stage_ranks(kind.map, shape))),
        micro_batches_(shape.micro_batches),
        lists_(kind.name, shape, kind.map) {}

  Schedule run(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int> changes;
      for (int h = 0; h < static_cast<int>(hops_.size()); ++h) {
        if (hops_[static_cast<std::size_t>(h)].rank != rank) continue;
        changes.push_back(h);
        changes.push_back(h + micro_batches_);
      }
      std::sort(changes.begin(), changes.end());
      for (std::size_t i = 1; i < changes.size(); ++i) {
        lists_.repeat(changes[i] - changes[i - 1], 1, [&] { add_cycle(rank, changes[i - 1]); });
      }
      lists_.end_of_rank();
    }
    return lists_.finish();
  }

 private:
  // Older micro-batches are at later hops.
  void add_cycle(int rank, int cycle) {
    std::vector<int> forwards, backwards;
    for (int h = static_cast<int>(hops_.size()) - 1; h >= 0; --h) {
      const Hop& hop = hops_[static_cast<std::size_t>(h)];
      if (hop.rank != rank || cycle < h || cycle >= h + micro_batches_) continue;
      (hop.forward ? forwards : backwards).push_back(h);
    }
    for (std::size_t i = 0; i < std::max(forwards.size(), backwards.size()); ++i) {
      if (i < backwards.size()) add_hop(backwards[i], cycle);
      if (i < forwards.size()) add_hop(forwards[i], cycle);
    }
  }
  void add_hop(int h, int cycle) {
    const Hop& hop = hops_[static_cast<std::size_t>(h)];
    for (int i = 0; i < hop.end - hop.first; ++i) {
      const int stage = hop.forward ? hop.first + i : hop.end - 1 - i;
      lists_.add(hop.forward ? ActionKind::kForward : ActionKind::kFusedBackward, stage, cycle - h);
    }
  }

  std::vector<Hop> hops_;
  int micro_batches_;
  ListBuilder lists_;
};

// How many show everything depends on the chunks as well.
int all_micro_batches(int /*ranks*/) { return std::numeric_limits<int>::max(); }

}  // namespace

CyclicLists cyclic_lists(std::span<const int> rank_of_stage, int ranks, int micro_batches,
                         const CyclicMemory* memory) {
  return Cycles(rank_of_stage, ranks, micro_batches, memory).run();
}

const ScheduleKind kCyclic = {
    .name = "cyclic",
    .summary =
        "DynaPipe's: 1F1B with up to twice as many micro-batches in flight, for times that "
        "differ",
    .fewest_chunks = 1,
    .most_chunks = 0,
    .only_when_named = true,
    .enough_micro_batches = all_micro_batches,
    .generate =
        [](const ScheduleShape& shape) { return RolledCycles(kCyclic, shape).run(shape.ranks); },
};

const ScheduleKind kCyclicV = {
    .name = "cyclic-v",
    .summary = "the same on the V",
    .map = StageMap::kV,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .only_when_named = true,
    .enough_micro_batches = all_micro_batches,
    .generate =
        [](const ScheduleShape& shape) { return RolledCycles(kCyclicV, shape).run(shape.ranks); },
};

}  // namespace penstock
