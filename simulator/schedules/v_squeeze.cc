// Follows "Pipeline Parallelism with Controllable Memory" (arXiv 2405.15362): every micro-batch
// repeats a pattern of slots, one slot per action, and the patterns interlock without collision.
// squeeze() takes the slots one after the other and moves each action to the first empty slot
// behind all that it waits for, if the rank then holds no more than its limit; the steady state
// stays as it is. W have no one waiting for them and fill gaps, oldest first.
//
// Gaps are found as in a forest of disjoint sets with path halving, and counts are compared in
// blocks because every micro-batch passes through here slot by slot. Invariant: no move changes
// what a rank holds at its highest beyond the limit, and none goes before what the action needs.
#include "simulator/schedules/v_squeeze.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace penstock {
namespace {

constexpr std::size_t kNoRank = static_cast<std::size_t>(-1);

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The last slot before `from` that holds `limit` or more, `earliest` - 1 if there is none behind
// that. Blocks have no branch in them, so that they are compared several slots at once.
int last_full(const std::vector<std::uint16_t>& held, int limit, int earliest, int from) {
  constexpr int kBlock = 32;
  int end = from;
  for (; end - earliest >= kBlock; end -= kBlock) {
    const std::uint16_t* block = held.data() + (end - kBlock);
    std::uint16_t most = 0;
    for (int i = 0; i < kBlock; ++i) most = std::max(most, block[i]);
    if (most >= limit) break;
  }
  while (end > earliest && held[at(end - 1)] < limit) --end;
  return end - 1;
}

// As with disjoint sets, halving the way for those who ask next.
int find_gap(std::vector<int>& gaps, int slot) {
  while (gaps[at(slot)] != slot) {
    gaps[at(slot)] = gaps[at(gaps[at(slot)])];
    slot = gaps[at(slot)];
  }
  return slot;
}

}  // namespace

VSqueeze::VSqueeze(const std::vector<LegSlots>& pattern, int micro_batches)
    : micro_batches_(micro_batches), ranks_(pattern.size()) {
  const int last = kPeriod * (micro_batches - 1);
  for (const LegSlots& legs : pattern) {
    length_ = std::max(length_, at(*std::max_element(legs.begin(), legs.end()) + last + 1));
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.ops.assign(length_, kEmpty);
    rank.slots.resize(at(kLegs * micro_batches));
    for (int op = 0; op < kLegs * micro_batches; ++op) {
      const int slot = pattern[r][at(leg_of(op))] + kPeriod * micro_batch_of(op);
      rank.slots[at(op)] = slot;
      rank.ops[at(slot)] = op;
    }
  }
}

std::vector<std::vector<ComputeAction>> VSqueeze::lists() {
  place_weights();
  squeeze(Weights::kPlaced);
  compact();
  squeeze(Weights::kInGaps);
  place_weights();
  compact();
  std::vector<std::vector<ComputeAction>> lists;
  lists.reserve(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) lists.push_back(list_of(r));
  return lists;
}

// The rank whose end of the same leg is waited for.
std::size_t VSqueeze::neighbour(std::size_t rank, int leg) const {
  if (leg % 2 == 0) return rank == 0 ? kNoRank : rank - 1;
  return rank + 1 == ranks_.size() ? kNoRank : rank + 1;
}

// In every gap the W of an I before it, what is left behind the last slot.
void VSqueeze::place_weights() {
  std::size_t longest = length_;
  for (Rank& rank : ranks_) {
    int next = kLegs * micro_batches_, pending = 0;
    const int end = next + 2 * micro_batches_;
    std::size_t last = rank.ops.size();
    while (rank.ops[last - 1] == kEmpty) --last;
    for (std::size_t slot = 0; next < end; ++slot) {
      if (slot == rank.ops.size()) rank.ops.push_back(kEmpty);
      int& op = rank.ops[slot];
      if (op == kEmpty && pending > 0) {
        op = next++;
        --pending;
      } else if (op != kEmpty && !is_forward(op)) {
        ++pending;
      }
    }
    longest = std::max(longest, rank.ops.size());
  }
  length_ = longest;
  for (Rank& rank : ranks_) rank.ops.resize(length_, kEmpty);
}

VSqueeze::Counts VSqueeze::after(Counts counts, int op, Weights weights) const {
  if (op == kEmpty) {
    if (weights == Weights::kPlaced || counts.pending == 0) return counts;
    return {counts.held - 1, counts.pending - 1};
  }
  if (is_forward(op)) return {counts.held + 1, counts.pending};
  if (is_weight(op)) return {counts.held - 1, counts.pending};
  return {counts.held, counts.pending + 1};
}

void VSqueeze::count(Rank& rank, Weights weights) {
  rank.held.resize(length_);
  rank.pending.resize(length_);
  rank.gradient_slots.clear();
  Counts counts;
  for (std::size_t slot = 0; slot < length_; ++slot) {
    const int op = rank.ops[slot];
    counts = after(counts, op, weights);
    rank.held[slot] = static_cast<std::uint16_t>(counts.held);
    rank.pending[slot] = counts.pending;
    limit_ = std::max(limit_, counts.held);
    const bool is_gradient = op != kEmpty && !is_forward(op) && !is_weight(op);
    if (is_gradient) rank.gradient_slots.push_back(static_cast<int>(slot));
  }
}

// Slot by slot. The steady state, from the first I that ends its way until the last micro-batch
// enters, stays as it is, and so does a warm-up that has been squeezed.
void VSqueeze::squeeze(Weights weights) {
  limit_ = 0;
  for (Rank& rank : ranks_) {
    count(rank, weights);
    rank.last_weight_slot = -1;
  }
  const int steady_from = ranks_[0].slots[at((kLegs - 1) * micro_batches_)];
  const Place drain = first_of_drain(steady_from);
  if (weights == Weights::kPlaced) {
    squeeze_between({}, {steady_from, 0}, weights);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].last_weight_slot =
          std::max(ranks_[r].last_weight_slot, last_weight_before(r, drain));
    }
  }
  squeeze_between(drain, {static_cast<int>(length_), 0}, weights);
}

// Behind the first last micro-batch that enters a rank in the steady state.
VSqueeze::Place VSqueeze::first_of_drain(int steady_from) const {
  Place drain{static_cast<int>(length_), 0};
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Place entry{ranks_[r].slots[at(micro_batches_ - 1)], r};
    if (entry.slot >= steady_from) drain = std::min(drain, {entry.slot, r + 1});
  }
  return drain;
}

// -1: none.
int VSqueeze::last_weight_before(std::size_t rank, Place end) const {
  const std::vector<int>& ops = ranks_[rank].ops;
  int slot = end.slot - (rank < end.rank ? 0 : 1);
  while (slot >= 0 && !is_weight(ops[at(slot)])) --slot;
  return slot;
}

void VSqueeze::squeeze_between(Place from, Place end, Weights weights) {
  if (weights == Weights::kPlaced) find_gaps(from);
  std::size_t r = from.rank;
  for (int slot = from.slot; slot <= end.slot && at(slot) < length_; ++slot, r = 0) {
    const std::size_t ranks = slot == end.slot ? end.rank : ranks_.size();
    for (; r < ranks; ++r) {
      Rank& rank = ranks_[r];
      const int op = rank.ops[at(slot)];
      if (op != kEmpty) move_ahead(rank, slot, earliest(r, op), weights);
    }
  }
}

// Slots from which ops are still to be met count as gaps; nothing moves to one of them.
void VSqueeze::find_gaps(Place from) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.gaps.resize(length_ + 1);
    const int met = from.slot + (r < from.rank ? 1 : 0);
    for (int slot = 0; at(slot) <= length_; ++slot) {
      const bool is_taken = slot < met && at(slot) < length_ && rank.ops[at(slot)] != kEmpty;
      rank.gaps[at(slot)] = slot + (is_taken ? 1 : 0);
    }
  }
}

// The first slot behind all that the op waits for.
int VSqueeze::earliest(std::size_t rank, int op) const {
  const Rank& own = ranks_[rank];
  if (is_weight(op)) {
    const int gradient = own.gradient_slots[at(op - kLegs * micro_batches_)];
    return std::max(gradient, own.last_weight_slot) + 1;
  }
  int latest = -1;
  const int leg = leg_of(op);
  if (leg > 0) latest = own.slots[at(op - micro_batches_)];
  if (op > leg * micro_batches_) latest = std::max(latest, own.slots[at(op - 1)]);
  const std::size_t other = neighbour(rank, leg);
  if (other != kNoRank) latest = std::max(latest, ranks_[other].slots[at(op)]);
  return latest + 1;
}

// To the first gap, from `earliest` on, with which the rank does not hold more than the limit.
void VSqueeze::move_ahead(Rank& rank, int from, int earliest, Weights weights) {
  const int op = rank.ops[at(from)];
  int to = earliest;
  if (weights == Weights::kPlaced) {
    to = std::min(first_gap(rank, from, earliest), from);
    if (to < from) hold_from(rank, from, to);
    rank.gaps[at(to)] = to + 1;
  } else {
    while (to < from && !(rank.ops[at(to)] == kEmpty && fits(rank, from, to))) ++to;
  }
  if (to < from) move(rank, from, to);
  if (is_weight(op)) rank.last_weight_slot = std::min(to, from);
}

// With every W placed: an F holds one more from there to where it was, and nothing else changes.
int VSqueeze::first_gap(Rank& rank, int from, int earliest) const {
  if (earliest >= from) return from;
  int to = earliest;
  if (is_forward(rank.ops[at(from)])) to = last_full(rank.held, limit_, earliest, from) + 1;
  return find_gap(rank.gaps, to);
}

void VSqueeze::hold_from(Rank& rank, int from, int to) {
  const int op = rank.ops[at(from)];
  const int more = is_forward(op) ? 1 : is_weight(op) ? -1 : 0;
  if (more == 0) return;
  const auto added = static_cast<std::uint16_t>(more);  // one less where it wraps around
  for (int slot = to; slot < from; ++slot) {
    std::uint16_t& held = rank.held[at(slot)];
    held = static_cast<std::uint16_t>(held + added);
  }
}

// With the W in the gaps: whether the rank stays within the limit; then its counts are those of
// after the move.
bool VSqueeze::fits(Rank& rank, int from, int to) {
  counts_.clear();
  const int op = rank.ops[at(from)];
  Counts counts;
  if (to > 0) counts = {rank.held[at(to - 1)], rank.pending[at(to - 1)]};
  for (int slot = to; at(slot) < length_; ++slot) {
    const int here = slot == to ? op : slot == from ? kEmpty : rank.ops[at(slot)];
    counts = after(counts, here, Weights::kInGaps);
    if (counts.held > limit_) return false;
    const bool as_before =
        counts.held == rank.held[at(slot)] && counts.pending == rank.pending[at(slot)];
    if (slot >= from && as_before) break;
    counts_.push_back(counts);
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    rank.held[at(to) + i] = static_cast<std::uint16_t>(counts_[i].held);
    rank.pending[at(to) + i] = counts_[i].pending;
  }
  return true;
}

void VSqueeze::move(Rank& rank, int from, int to) {
  const int op = rank.ops[at(from)];
  rank.ops[at(from)] = kEmpty;
  rank.ops[at(to)] = op;
  if (is_weight(op)) return;
  rank.slots[at(op)] = to;
  if (is_forward(op)) return;
  auto& slots = rank.gradient_slots;
  const auto old = std::lower_bound(slots.begin(), slots.end(), from);
  const auto now = std::lower_bound(slots.begin(), old, to);
  std::rotate(now, old, old + 1);
  *now = to;
}

// Every op as early as its rank and its neighbours let it, each one slot long; W are taken out.
// None comes to lie behind where it was, so each list is rewritten in its place.
void VSqueeze::compact() {
  std::vector<int> ends(ranks_.size(), 0);
  std::size_t longest = 0;
  for (std::size_t slot = 0; slot < length_; ++slot) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const int op = std::exchange(ranks_[r].ops[slot], kEmpty);
      if (op == kEmpty) continue;
      int start = ends[r];
      if (!is_weight(op)) {
        const std::size_t other = neighbour(r, leg_of(op));
        if (other != kNoRank) start = std::max(start, ranks_[other].slots[at(op)] + 1);
        ranks_[r].slots[at(op)] = start;
        ranks_[r].ops[at(start)] = op;
        longest = std::max(longest, at(start) + 1);
      }
      ends[r] = start + 1;
    }
  }
  length_ = longest;
  for (Rank& rank : ranks_) rank.ops.resize(length_);
}

// With a W in every gap, those of the second stage first, and what is left at the end.
std::vector<ComputeAction> VSqueeze::list_of(std::size_t r) const {
  const auto first = static_cast<std::uint16_t>(r);
  const auto second = static_cast<std::uint16_t>(2 * ranks_.size() - 1 - r);
  std::vector<ComputeAction> list;
  const std::size_t length = at((kLegs + 2) * micro_batches_);
  list.reserve(length);
  const auto add = [&](ActionKind kind, bool is_first, int micro_batch) {
    list.push_back({kind, false, StageId{is_first ? first : second},
                    MicroBatchId{static_cast<std::uint32_t>(micro_batch)}});
  };
  std::array<int, 2> gradients{}, weights{};  // of the second stage and of the first
  const auto add_weight = [&] {
    const std::size_t pool = gradients[0] > weights[0] ? 0 : 1;
    if (gradients[pool] > weights[pool]) {
      add(ActionKind::kWeightGradient, pool == 1, weights[pool]++);
    }
  };
  for (const int op : ranks_[r].ops) {
    if (op == kEmpty) {
      add_weight();
      continue;
    }
    const int leg = leg_of(op);
    const bool is_first = leg == 0 || leg == kLegs - 1;
    add(is_forward(op) ? ActionKind::kForward : ActionKind::kInputGradient, is_first,
        op - leg * micro_batches_);
    if (!is_forward(op)) ++gradients[is_first ? 1 : 0];
  }
  while (list.size() < length) add_weight();
  return list;
}

}  // namespace penstock
