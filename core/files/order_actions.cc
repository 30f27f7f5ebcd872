// Goes round over the ranks and appends the next action of each list as soon as what it waits for
// has been appended; collectives count as done when their last member is. The order depends on the
// lists alone, so reading a file twice gives the same Program. waits_for.cc has said before what
// each action waits for. Invariant: an action stands behind all that it waits for; when a round
// appends nothing, the lists wait for each other, and the circle is named.
#include "core/files/order_actions.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/files/slot_waits.h"
#include "core/values/action_rules.h"

namespace penstock {
namespace {

constexpr std::uint32_t kNone = kWaitsForNothing;
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
// Every round visits every rank, so that one long list among thousands of short ones would take
// hours. Of lists that are one step of a training run none is much longer than the others.
constexpr std::uint64_t kMostVisits = std::uint64_t{1} << 32;

std::string too_uneven(const ActionLists& lists) {
  const std::size_t ranks = lists.begin.size() - 1;
  std::size_t longest = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    longest = std::max(longest, lists.begin[r + 1] - lists.begin[r]);
  }
  if (std::uint64_t{ranks} * longest <= kMostVisits) return {};
  return "one of the " + std::to_string(ranks) + " lists has " + std::to_string(longest) +
         " actions; so many ranks cannot wait for a list that long";
}

// Waits that only a file lists.
std::string wrong_wait(const Program& program, const ActionLists& lists) {
  for (const Wait& wait : lists.more_waits) {
    const Action& action = lists.actions[wait.action];
    const Action& needed = lists.actions[wait.needs];
    const std::string both = name_of(program, action) + " waits for " + name_of(program, needed);
    if (is_receive(action.kind)) {
      return both +
             ": a receive ends with its send; list the wait for the send, or for what needs "
             "the receive";
    }
    if (program.stages[action.stage.value].pipeline !=
        program.stages[needed.stage.value].pipeline) {
      return both + ": they are of different pipelines";
    }
  }
  return {};
}

// Appends the actions of all ranks to the Program.
class Ordering {
 public:
  Ordering(Program& program, const ActionLists& lists)
      : program_(program),
        lists_(lists),
        head_(lists.begin.begin(), lists.begin.end() - 1),
        last_collective_(head_.size(), kNone),
        placed_(lists.actions.size(), kNone),
        members_placed_(program.groups.size() * kActionKinds, 0) {
    program_.actions.clear();
    program_.more_waits.clear();
    program_.actions.reserve(lists.actions.size());
  }

  // False when the rest of the lists waits for itself.
  bool run() {
    while (program_.actions.size() < lists_.actions.size()) {
      const std::size_t before = program_.actions.size();
      for (std::size_t r = 0; r < head_.size(); ++r) {
        if (done(r) || waiting_at(r)) continue;
        const std::size_t action = head_[r];
        append(r);
        if (lists_.actions[action].overlaps_next) append(r);
        take_receive_along(action);
      }
      if (program_.actions.size() == before) return false;
    }
    return true;
  }

  // After run() returned true.
  void place_more_waits() {
    for (const Wait& wait : lists_.more_waits) {
      program_.more_waits.push_back({placed_[wait.action], placed_[wait.needs], wait.listed});
    }
    sort_waits(program_.more_waits);
  }

  // After run() returned false: follows what blocks the ranks until a rank comes round again.
  [[nodiscard]] std::string cycle() const {
    std::size_t rank = 0;
    while (done(rank)) ++rank;
    const std::vector<std::size_t> missing = missing_members();
    std::vector<std::string> steps;
    std::vector<std::size_t> step_of(head_.size(), lists_.actions.size());
    while (step_of[rank] == lists_.actions.size()) {
      step_of[rank] = steps.size();
      const std::size_t waiting = *waiting_at(rank);
      const std::optional<std::size_t> waits_for = blocker(waiting, missing);
      if (!waits_for) {
        return name(waiting) + " waits for a collective of which no list holds a member";
      }
      std::string step = name(waiting) + " waits for " + name(*waits_for);
      rank = rank_at(*waits_for);
      if (*waits_for != head_[rank]) {
        step += ", which comes after " + name(head_[rank]) + " on rank " + std::to_string(rank);
      } else if (const std::size_t overlapped = *waiting_at(rank); overlapped != head_[rank]) {
        step += ", which overlaps " + name(overlapped);
      }
      steps.push_back(std::move(step));
    }
    std::string text = "the lists wait for each other: ";
    for (std::size_t i = step_of[rank]; i < steps.size(); ++i) {
      text += (i > step_of[rank] ? "; " : "") + steps[i];
    }
    return text;
  }

 private:
  [[nodiscard]] bool done(std::size_t rank) const { return head_[rank] == lists_.begin[rank + 1]; }
  [[nodiscard]] std::string name(std::size_t i) const {
    return name_of(program_, lists_.actions[i]);
  }
  [[nodiscard]] std::size_t rank_at(std::size_t i) const {
    return static_cast<std::size_t>(program_.rank_of(lists_.actions[i]).value);
  }
  [[nodiscard]] std::size_t instance(const Action& action) const {
    return action.group.value * std::size_t{kActionKinds} + static_cast<std::size_t>(action.kind);
  }

  // The next action of a rank, or the second member of an OVERLAP, if it cannot run yet: a pair
  // starts when both members can.
  [[nodiscard]] std::optional<std::size_t> waiting_at(std::size_t rank) const {
    const std::size_t i = head_[rank];
    if (!runnable(i)) return i;
    if (lists_.actions[i].overlaps_next && !runnable(i + 1)) return i + 1;
    return {};
  }
  [[nodiscard]] bool runnable(std::size_t i) const {
    const Action& action = lists_.actions[i];
    if (awaited(i) != kNone) return false;
    const std::uint32_t previous = last_collective_[rank_at(i)];
    if (!is_collective(action.kind) || previous == kNone || ended(previous)) return true;
    // Two stages of a rank may be members of one collective: the second joins the first.
    return instance(lists_.actions[previous]) == instance(action);
  }
  // The first that it waits for and that has not ended.
  [[nodiscard]] std::uint32_t awaited(std::size_t i) const {
    const std::uint32_t first = lists_.actions[i].waits_for;
    if (first != kNone && !ended(first)) return first;
    if (lists_.more_waits.empty()) return kNone;
    const auto before = [](const Wait& wait, std::size_t at) { return wait.action < at; };
    for (auto wait =
             std::lower_bound(lists_.more_waits.begin(), lists_.more_waits.end(), i, before);
         wait != lists_.more_waits.end() && wait->action == i; ++wait) {
      if (!ended(wait->needs)) return wait->needs;
    }
    return kNone;
  }
  [[nodiscard]] bool ended(std::size_t i) const {
    if (placed_[i] == kNone) return false;
    const Action& action = lists_.actions[i];
    return !is_collective(action.kind) ||
           members_placed_[instance(action)] >= program_.groups[action.group.value].members;
  }

  // What keeps the next action of a stuck rank: an action that has not been appended, or nothing
  // when that is a member of a collective that no list holds.
  [[nodiscard]] std::optional<std::size_t> blocker(std::size_t i,
                                                   const std::vector<std::size_t>& missing) const {
    const std::uint32_t waits_for = awaited(i);
    const std::size_t first = waits_for != kNone ? waits_for : last_collective_[rank_at(i)];
    if (placed_[first] == kNone) return first;
    const std::size_t member = missing[instance(lists_.actions[first])];
    return member == kNowhere ? std::nullopt : std::optional(member);
  }

  // [instance()]: the first of its members that have not been appended.
  [[nodiscard]] std::vector<std::size_t> missing_members() const {
    std::vector<std::size_t> missing(members_placed_.size(), kNowhere);
    for (std::size_t k = lists_.actions.size(); k-- > 0;) {
      const Action& action = lists_.actions[k];
      if (is_collective(action.kind) && placed_[k] == kNone) missing[instance(action)] = k;
    }
    return missing;
  }

  void append(std::size_t rank) {
    const std::size_t i = head_[rank]++;
    Action action = lists_.actions[i];
    if (action.waits_for != kNone) action.waits_for = placed_[action.waits_for];
    placed_[i] = static_cast<std::uint32_t>(program_.actions.size());
    program_.actions.push_back(action);
    if (!is_collective(action.kind)) return;
    last_collective_[rank] = static_cast<std::uint32_t>(i);
    ++members_placed_[instance(action)];
  }

  void take_receive_along(std::size_t send) {
    const Action& action = lists_.actions[send];
    if (!is_send(action.kind)) return;
    const StageId to = other_end(program_.stages[action.stage.value], action.kind);
    if (to == kNoStage) return;
    const auto peer = static_cast<std::size_t>(program_.stages[to.value].rank.value);
    if (done(peer)) return;
    const Action& next = lists_.actions[head_[peer]];
    if (is_receive(next.kind) && next.waits_for == send) append(peer);
  }

  Program& program_;
  const ActionLists& lists_;
  std::vector<std::size_t> head_;               // next position of every rank
  std::vector<std::uint32_t> last_collective_;  // of every rank, position
  std::vector<std::uint32_t> placed_;           // [position]: index in program.actions
  std::vector<std::uint32_t> members_placed_;   // [instance()]
};

}  // namespace

std::string order_actions(Program& program, ActionLists lists) {
  std::string problem = too_uneven(lists);
  if (problem.empty()) problem = wrong_wait(program, lists);
  if (problem.empty()) problem = set_waits_for(program, lists);
  if (problem.empty()) problem = set_slot_waits(program, lists);
  if (!problem.empty()) return problem;
  sort_waits(lists.more_waits);
  Ordering ordering(program, lists);
  if (!ordering.run()) return ordering.cycle();
  ordering.place_more_waits();
  return {};
}

}  // namespace penstock
