// What is left of a Program are operations on numbered slots: wait for a slot, add a price, write a
// slot. Uses are counted first, so a slot is free again when its last reader has passed; slots that
// the summary reads are kept for good. Several needs of one action become joins. Stretches are
// handed out in order, because an operation reads only what stands before it.
#include "simulator/lane_ops.h"

#include <algorithm>

namespace penstock {
namespace {

// A stretch of so many actions stays in the second-level cache while all lanes go over it.
constexpr std::uint32_t kStretch = 8192;

constexpr std::uint32_t kPending = 0xFFFF'FFFFU;  // of a collective that is not complete
constexpr std::uint32_t kForGood = kWaitsForNothing;

}  // namespace

std::uint32_t LaneOpsReader::Slots::take(std::uint32_t uses) {
  if (free_.empty()) {
    free_.push_back(count());
    uses_left_.push_back(0);
  }
  const std::uint32_t slot = free_.back();
  if (uses > 0) free_.pop_back();  // else it may be overwritten at once
  uses_left_[slot] = uses;
  return slot;
}

std::uint32_t LaneOpsReader::Slots::take_for_good() {
  uses_left_.push_back(kForGood);
  return count() - 1;
}

void LaneOpsReader::Slots::use(std::uint32_t slot) {
  if (uses_left_[slot] != kForGood && --uses_left_[slot] == 0) free_.push_back(slot);
}

void LaneOpsReader::Slots::add_uses(std::uint32_t slot, std::uint32_t uses) {
  if (uses_left_[slot] != kForGood) uses_left_[slot] += uses;
}

LaneOpsReader::LaneOpsReader(const Program& program, const PriceTable& prices, HostLink link)
    : program_(program),
      prices_(prices),
      one_copy_lane_(link == HostLink::kSimplex),
      needs_one_(program.more_waits.empty() && !program.has_slots()),
      uses_or_slot_(program.actions.size()),
      posted_(program.groups.size() * static_cast<std::size_t>(kActionKinds)),
      last_on_rank_(static_cast<std::size_t>(program.ranks()), kWaitsForNothing),
      has_computed_(last_on_rank_.size()),
      last_load_(last_on_rank_),
      last_store_(last_on_rank_) {
  count_uses();
}

void LaneOpsReader::count_uses() {
  for (const Action& action : program_.actions) {
    if (action.waits_for != kWaitsForNothing) ++uses_or_slot_[action.waits_for];
  }
  for (const Wait& wait : program_.more_waits) ++uses_or_slot_[wait.needs];
  if (needs_one_) return;                                        // whoever copies has more waits
  for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {  // a copy follows the last one
    if (!is_copy(program_.actions[i].kind)) continue;
    std::uint32_t& last = last_copy_of(program_.actions[i]);
    if (last != kWaitsForNothing) ++uses_or_slot_[last];
    last = i;
  }
  last_load_ = last_store_ = last_on_rank_;
}

std::uint32_t& LaneOpsReader::last_copy_of(const Action& action) {
  const bool in = action.kind == ActionKind::kLoad || one_copy_lane_;
  return (in ? last_load_ : last_store_)[rank_of(action)];
}

bool LaneOpsReader::has_more_waits(std::uint32_t i) const {
  return !program_.more_waits.empty() && !program_.more_waits_of(i).empty();
}

// The later of a slot that is used up and of an action, which is used by it.
std::uint32_t LaneOpsReader::join(std::uint32_t slot, std::uint32_t action, LaneOps& stretch) {
  const std::uint32_t other = use(action);
  if (slot == kStartSlot || other == kStartSlot) return slot == kStartSlot ? other : slot;
  LaneOps::Op op;
  op.kind = LaneOps::Kind::kJoin;
  op.waits_for = slot;
  op.price = other;
  op.ends_in = slots_.take(1);  // may be one of the two: it is written when both are read
  slots_.use(op.ends_in);
  stretch.ops.push_back(op);
  return op.ends_in;
}

// One slot for all that an action waits for. What follows must read it before it takes another.
std::uint32_t LaneOpsReader::needs_of(std::uint32_t i, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  std::uint32_t slot = use(action.waits_for);
  const auto and_then = [&](std::uint32_t needed) { slot = join(slot, needed, stretch); };
  if (has_more_waits(i)) {
    for (const Wait& wait : program_.more_waits_of(i)) and_then(wait.needs);
  }
  if (action.overlaps_next && has_more_waits(i + 1)) {
    for (const Wait& wait : program_.more_waits_of(i + 1)) and_then(wait.needs);
  }
  if (is_copy(action.kind)) {
    std::uint32_t& last = last_copy_of(action);
    if (last != kWaitsForNothing) and_then(last);
    last = i;
  }
  return slot;
}

bool LaneOpsReader::next(LaneOps& stretch) {
  const auto count = static_cast<std::uint32_t>(program_.actions.size());
  if (next_ >= count || asked_for_pending_) return false;
  stretch.ops.clear();
  stretch.overlaps.clear();
  stretch.members.clear();
  stretch.ops.reserve(kStretch);
  const std::uint32_t end = std::min(count, next_ + kStretch);
  while (next_ < end && !asked_for_pending_) {
    read(next_, stretch);
    next_ += program_.actions[next_].overlaps_next ? 2 : 1;
  }
  stretch.slots = slots_.count();
  return !asked_for_pending_;
}

bool LaneOpsReader::complete() const {
  return !asked_for_pending_ && std::all_of(posted_.begin(), posted_.end(),
                                            [](const auto& members) { return members.empty(); });
}

void LaneOpsReader::read(std::uint32_t i, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  if (is_collective(action.kind)) return post(i, stretch);
  if (!is_receive(action.kind)) return add(i, stretch);
  const std::uint32_t slot = slot_of(action.waits_for);
  slots_.add_uses(slot, uses_or_slot_[i]);
  slots_.use(slot);
  uses_or_slot_[i] = slot;
}

void LaneOpsReader::add(std::uint32_t i, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  LaneOps::Op op;
  op.waits_for = needs_one_ ? use(action.waits_for) : needs_of(i, stretch);
  op.price = static_cast<std::uint32_t>(prices_.entry_of(action));
  op.action = i;
  if (is_compute(action.kind)) {
    op.rank = rank_of(action);
    op.kind = action.overlaps_next ? LaneOps::Kind::kOverlap : LaneOps::Kind::kCompute;
    op.first_of_rank = !has_computed_[op.rank];
    has_computed_[op.rank] = true;
  } else if (is_copy(action.kind)) {
    op.rank = rank_of(action);
    op.kind = LaneOps::Kind::kCopy;
  }
  std::uint32_t uses = uses_or_slot_[i];
  if (action.overlaps_next) {
    add_second(i + 1, use(program_.actions[i + 1].waits_for), stretch);
    uses += uses_or_slot_[i + 1];
  }
  op.ends_in = slots_.take(uses);
  uses_or_slot_[i] = op.ends_in;
  if (action.overlaps_next) uses_or_slot_[i + 1] = op.ends_in;
  stretch.ops.push_back(op);
}

void LaneOpsReader::add_second(std::uint32_t i, std::uint32_t waits_for, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  const auto price = static_cast<std::uint32_t>(prices_.entry_of(action));
  const auto gain = static_cast<std::uint32_t>(prices_.entry_of_gain(program_.actions[i - 1]));
  stretch.overlaps.push_back({waits_for, price, gain, i});
}

// As in the straight replay: a collective ends for all its members when the last has posted.
void LaneOpsReader::post(std::uint32_t i, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  auto& posted = posted_[action.group.value * static_cast<std::size_t>(kActionKinds) +
                         static_cast<std::size_t>(action.kind)];
  auto& last = last_on_rank_[rank_of(action)];
  asked_for_pending_ = asked_for_pending_ || has_more_waits(i);
  // Two stages of one rank may belong to one group: then the first says what came before.
  posted.push_back({i, same_collective(last, action) ? kWaitsForNothing : last});
  last = i;
  uses_or_slot_[i] = kPending;
  if (posted.size() == program_.groups[action.group.value].members) finish(posted, stretch);
}

void LaneOpsReader::finish(std::vector<Posted>& posted, LaneOps& stretch) {
  for (const Posted& member : posted) {
    const Action& its = program_.actions[member.action];
    stretch.members.push_back({use(its.waits_for), slot_of(member.previous), rank_of(its), false});
  }
  stretch.members.back().last = true;
  // The first member's price stands for all.
  LaneOps::Op op;
  op.kind = LaneOps::Kind::kCollective;
  op.action = posted.front().action;
  op.price = static_cast<std::uint32_t>(prices_.entry_of_collective(program_.actions[op.action]));
  op.ends_in = slots_.take_for_good();
  for (const Posted& member : posted) uses_or_slot_[member.action] = op.ends_in;
  posted.clear();
  stretch.ops.push_back(op);
}

bool LaneOpsReader::same_collective(std::uint32_t index, const Action& action) const {
  if (index == kWaitsForNothing) return false;
  const Action& other = program_.actions[index];
  return other.group == action.group && other.kind == action.kind;
}

std::uint16_t LaneOpsReader::rank_of(const Action& action) const {
  return static_cast<std::uint16_t>(program_.rank_of(action).value);
}

std::uint32_t LaneOpsReader::slot_of(std::uint32_t action) {
  if (action == kWaitsForNothing) return kStartSlot;
  if (uses_or_slot_[action] == kPending) asked_for_pending_ = true;
  return asked_for_pending_ ? kStartSlot : uses_or_slot_[action];
}

std::uint32_t LaneOpsReader::use(std::uint32_t action) {
  const std::uint32_t slot = slot_of(action);
  slots_.use(slot);
  return slot;
}

}  // namespace penstock
