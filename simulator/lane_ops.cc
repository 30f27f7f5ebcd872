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

LaneOpsReader::LaneOpsReader(const Program& program, const PriceTable& prices)
    : program_(program),
      prices_(prices),
      uses_or_slot_(program.actions.size()),
      posted_(program.groups.size() * static_cast<std::size_t>(kActionKinds)),
      last_on_rank_(static_cast<std::size_t>(program.ranks()), kWaitsForNothing),
      has_computed_(last_on_rank_.size()) {
  for (const Action& action : program.actions) {
    if (action.waits_for != kWaitsForNothing) ++uses_or_slot_[action.waits_for];
  }
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
  op.waits_for = use(action.waits_for);
  op.price = static_cast<std::uint32_t>(prices_.entry_of(action));
  op.action = i;
  if (is_compute(action.kind)) {
    op.rank = rank_of(action);
    op.kind = action.overlaps_next ? LaneOps::Kind::kOverlap : LaneOps::Kind::kCompute;
    op.first_of_rank = !has_computed_[op.rank];
    has_computed_[op.rank] = true;
  }
  std::uint32_t uses = uses_or_slot_[i];
  if (action.overlaps_next) {
    add_second(i + 1, stretch);
    uses += uses_or_slot_[i + 1];
  }
  op.ends_in = slots_.take(uses);
  uses_or_slot_[i] = op.ends_in;
  if (action.overlaps_next) uses_or_slot_[i + 1] = op.ends_in;
  stretch.ops.push_back(op);
}

void LaneOpsReader::add_second(std::uint32_t i, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  const auto price = static_cast<std::uint32_t>(prices_.entry_of(action));
  const auto gain = static_cast<std::uint32_t>(prices_.entry_of_gain(program_.actions[i - 1]));
  stretch.overlaps.push_back({use(action.waits_for), price, gain, i});
}

// As in the straight replay: a collective ends for all its members when the last has posted.
void LaneOpsReader::post(std::uint32_t i, LaneOps& stretch) {
  const Action& action = program_.actions[i];
  auto& posted = posted_[action.group.value * static_cast<std::size_t>(kActionKinds) +
                         static_cast<std::size_t>(action.kind)];
  auto& last = last_on_rank_[rank_of(action)];
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
