#include "simulator/lane_program.h"

#include <limits>

namespace penstock {
namespace {

constexpr std::uint32_t kPending = std::numeric_limits<std::uint32_t>::max();

// Slots of ends that somebody still waits for. The ends of collectives stay: they are few, and the
// next collective of a rank follows them.
class Slots {
 public:
  // For an end that `uses` others wait for.
  std::uint32_t take(std::uint32_t uses) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(uses_left_.size()));
      uses_left_.push_back(0);
    }
    const std::uint32_t slot = free_.back();
    if (uses > 0) free_.pop_back();  // else it may be overwritten at once
    uses_left_[slot] = uses;
    return slot;
  }
  std::uint32_t take_for_good() {
    uses_left_.push_back(kPending);
    return static_cast<std::uint32_t>(uses_left_.size() - 1);
  }
  void use(std::uint32_t slot) {
    if (uses_left_[slot] != kPending && --uses_left_[slot] == 0) free_.push_back(slot);
  }
  void add_uses(std::uint32_t slot, std::uint32_t uses) {
    if (uses_left_[slot] != kPending) uses_left_[slot] += uses;
  }
  [[nodiscard]] std::uint32_t count() const {
    return static_cast<std::uint32_t>(uses_left_.size());
  }

 private:
  std::vector<std::uint32_t> uses_left_{kPending};  // the start of the step stays too
  std::vector<std::uint32_t> free_;
};

class Builder {
 public:
  Builder(const Program& program, const PriceTable& prices)
      : program_(program),
        prices_(prices),
        uses_(program.actions.size()),
        slot_(program.actions.size()),
        posted_(program.groups.size() * static_cast<std::size_t>(kActionKinds)),
        last_on_rank_(static_cast<std::size_t>(program.ranks()), kWaitsForNothing),
        has_computed_(last_on_rank_.size()) {}

  std::optional<LaneProgram> build() {
    result_.ranks = program_.ranks();
    result_.ops.reserve(count_uses());
    for (std::uint32_t i = 0; i < program_.actions.size() && !asked_for_pending_; ++i) {
      const Action& action = program_.actions[i];
      if (is_receive(action.kind)) {
        slot_[i] = slot_of(action.waits_for);
        slots_.add_uses(slot_[i], uses_[i]);
        use(action.waits_for);
      } else if (is_collective(action.kind)) {
        post(i);
      } else {
        add(i);
        if (action.overlaps_next) ++i;
      }
    }
    for (const auto& members : posted_) {
      if (!members.empty()) return std::nullopt;
    }
    if (asked_for_pending_) return std::nullopt;
    result_.slots = slots_.count();
    return std::move(result_);
  }

 private:
  struct Posted {
    std::uint32_t action, previous;  // previous: the collective before it on its rank
  };

  // How often every action is waited for. Returns an upper bound of the number of ops.
  std::size_t count_uses() {
    std::size_t ops = 0;
    for (const Action& action : program_.actions) {
      if (action.waits_for != kWaitsForNothing) ++uses_[action.waits_for];
      if (!is_receive(action.kind)) ++ops;
    }
    return ops;
  }
  std::uint32_t slot_of(std::uint32_t action) {
    if (action == kWaitsForNothing) return kStartSlot;
    if (slot_[action] == kPending) asked_for_pending_ = true;
    return asked_for_pending_ ? kStartSlot : slot_[action];
  }
  // An op reads what it waits for before it writes, so it may end in a slot that it frees.
  std::uint32_t use(std::uint32_t action) {
    const std::uint32_t slot = slot_of(action);
    slots_.use(slot);
    return slot;
  }

  void add(std::uint32_t i) {
    const Action& action = program_.actions[i];
    LaneProgram::Op op;
    op.waits_for = use(action.waits_for);
    op.price = static_cast<std::uint32_t>(prices_.entry_of(action));
    op.action = i;
    if (is_compute(action.kind)) {
      op.rank = rank_of(action);
      op.kind = LaneProgram::OpKind::kCompute;
      op.first_of_rank = !has_computed_[op.rank];
      has_computed_[op.rank] = true;
    }
    if (action.overlaps_next) {
      op.kind = LaneProgram::OpKind::kOverlap;
      op.ends_in = slot_[i + 1] = slots_.take(uses_[i] + uses_[i + 1]);
      add_second(i + 1);
    } else {
      op.ends_in = slots_.take(uses_[i]);
    }
    slot_[i] = op.ends_in;
    result_.ops.push_back(op);
  }

  void add_second(std::uint32_t i) {
    const Action& action = program_.actions[i];
    const auto price = static_cast<std::uint32_t>(prices_.entry_of(action));
    const auto gain = static_cast<std::uint32_t>(prices_.entry_of_gain(program_.actions[i - 1]));
    result_.overlaps.push_back({use(action.waits_for), price, gain, i});
  }

  // As in the straight replay: a collective ends for all its members when the last has posted.
  void post(std::uint32_t i) {
    const Action& action = program_.actions[i];
    auto& posted = posted_[action.group.value * static_cast<std::size_t>(kActionKinds) +
                           static_cast<std::size_t>(action.kind)];
    auto& last = last_on_rank_[rank_of(action)];
    // Two stages of one rank may belong to one group: then the first says what came before.
    posted.push_back({i, same_collective(last, action) ? kWaitsForNothing : last});
    last = i;
    slot_[i] = kPending;
    if (posted.size() < program_.groups[action.group.value].members) return;
    for (const Posted& member : posted) {
      const Action& its = program_.actions[member.action];
      result_.members.push_back(
          {use(its.waits_for), slot_of(member.previous), rank_of(its), false});
    }
    result_.members.back().last = true;
    LaneProgram::Op op;
    op.ends_in = slots_.take_for_good();
    op.action = posted.front().action;
    op.price = static_cast<std::uint32_t>(
        prices_.entry_of_collective(program_.actions[posted.front().action]));
    op.kind = LaneProgram::OpKind::kCollective;
    for (const Posted& member : posted) slot_[member.action] = op.ends_in;
    posted.clear();
    result_.ops.push_back(op);
  }
  [[nodiscard]] bool same_collective(std::uint32_t index, const Action& action) const {
    if (index == kWaitsForNothing) return false;
    const Action& other = program_.actions[index];
    return other.group == action.group && other.kind == action.kind;
  }
  [[nodiscard]] std::uint16_t rank_of(const Action& action) const {
    return static_cast<std::uint16_t>(program_.rank_of(action).value);
  }

  const Program& program_;
  const PriceTable& prices_;
  LaneProgram result_;
  Slots slots_;
  std::vector<std::uint32_t> uses_, slot_;  // of every action's end
  std::vector<std::vector<Posted>> posted_;
  std::vector<std::uint32_t> last_on_rank_;
  std::vector<bool> has_computed_;
  bool asked_for_pending_ = false;
};

}  // namespace

std::optional<LaneProgram> lane_program(const Program& program, const PriceTable& prices) {
  return Builder(program, prices).build();
}

}  // namespace penstock
