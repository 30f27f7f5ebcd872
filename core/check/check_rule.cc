// Carries a run-time rule out on its own clock, without the event engine: ends are kept in a map by
// instant, and at each instant everything that ends is noted before any idle rank looks. Invariant:
// all ranks that look at an instant see the same state; what their starts make arrive at once is
// seen by a second look at the same instant.
#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

// Steps from instant to instant. At each one the idle ranks to which something has happened look at
// their lists, the rule may move a forward to the front, and what can start starts; what that makes
// arrive at the same instant is seen when all have looked.
class RuleRun {
 public:
  RuleRun(const PlanFile& file, const RankLists& lists)
      : file_(file), lists_(lists), ranks_(lists.size()) {
    for (std::size_t r = 0; r < lists.size(); ++r) {
      for (const Action& action : lists[r]) {
        if (in_pipeline(action)) ranks_[r].left.push_back(action);
      }
      ranks_[r].forward = ranks_[r].behind_forward = ranks_[r].left.begin();
      find_forward(ranks_[r]);
      looking_[0].push_back(r);
    }
  }

  // False when ranks wait for each other.
  bool run() {
    while (!looking_.empty()) {
      now_ = looking_.begin()->first;
      const std::vector<std::size_t> ranks = std::move(looking_.begin()->second);
      looking_.erase(looking_.begin());
      look(ranks);
    }
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.left.empty(); });
  }

  // The lists in the order in which their actions started; what ends the step stays behind.
  [[nodiscard]] RankLists executed() const {
    RankLists executed(lists_.size());
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      using Place = std::tuple<std::int64_t, std::int64_t, std::size_t>;  // start, end, position
      std::vector<Place> order;
      std::vector<Action> rest;
      for (std::size_t at = 0; at < lists_[r].size(); ++at) {
        const Action& action = lists_[r][at];
        const auto times = times_.find(key_of(action.kind, action.stage, action.micro_batch));
        if (times == times_.end()) {
          rest.push_back(action);
        } else {
          order.emplace_back(times->second.first, times->second.second, at);
        }
      }
      std::sort(order.begin(), order.end());
      for (const Place& place : order) executed[r].push_back(lists_[r][std::get<2>(place)]);
      executed[r].insert(executed[r].end(), rest.begin(), rest.end());
    }
    return executed;
  }

 private:
  struct Rank {
    std::list<Action> left;                      // what it has still to compute, in order
    std::list<Action>::iterator forward;         // the next one in there, or the end
    std::list<Action>::iterator behind_forward;  // what stood behind it, before it was moved
    std::int64_t free = 0;                       // when it has computed what it began
    bool looks = false;                          // at this instant
  };

  static bool in_pipeline(const Action& action) {
    return action.kind == ActionKind::kForward || action.kind == ActionKind::kRecompute ||
           is_backward(action.kind) || action.kind == ActionKind::kWeightGradient;
  }

  void look(const std::vector<std::size_t>& ranks) {
    std::vector<std::size_t> starting;
    for (const std::size_t r : ranks) {
      Rank& rank = ranks_[r];
      if (rank.looks || rank.free > now_ || rank.left.empty() || !can_start(rank)) continue;
      rank.looks = true;  // once, however much has happened to it
      starting.push_back(r);
    }
    for (const std::size_t r : starting) {
      ranks_[r].looks = false;
      start(r);
    }
  }

  bool can_start(Rank& rank) const {
    const Action& head = rank.left.front();
    if (has_what_it_needs(head)) return true;
    if (head.kind != ActionKind::kRecompute) return false;
    if (rank.forward == rank.left.end()) return file_.program.rule == RunTimeRule::kVarunaRuntime;
    const bool is_there = has_what_it_needs(*rank.forward);
    if (file_.program.rule == RunTimeRule::kVarunaStrict && !is_there) return false;
    rank.left.splice(rank.left.begin(), rank.left, rank.forward);  // it stays there
    return is_there;
  }

  static void find_forward(Rank& rank) {
    rank.forward = std::find_if(rank.behind_forward, rank.left.end(), [](const Action& action) {
      return action.kind == ActionKind::kForward;
    });
    rank.behind_forward = rank.forward == rank.left.end() ? rank.forward : std::next(rank.forward);
  }

  void start(std::size_t r) {
    Rank& rank = ranks_[r];
    const Action action = rank.left.front();
    if (action.kind == ActionKind::kForward) find_forward(rank);
    rank.left.pop_front();
    rank.free = sum_of(now_, duration_of(file_, action).count());
    note(action, now_, rank.free);
    if (action.kind == ActionKind::kForward && has_next(file_.program, action.stage)) {
      send(ActionKind::kSendActivation, ActionKind::kReceiveActivation, action,
           next_of(action.stage), rank.free);
    }
    if (is_backward(action.kind) && has_previous(file_.program, action.stage)) {
      send(ActionKind::kSendGradient, ActionKind::kReceiveGradient, action,
           previous_of(action.stage), rank.free);
    }
  }

  void send(ActionKind send, ActionKind receive, Action action, StageId to, std::int64_t from) {
    if (on_one_rank(file_.program, action.stage, to)) return;
    action.kind = send;
    const std::int64_t arrival = sum_of(from, duration_of(file_, action).count());
    note(action, from, arrival);
    action.kind = receive;
    action.stage = to;
    note(action, arrival, arrival);
  }

  void note(const Action& action, std::int64_t start, std::int64_t end) {
    times_[key_of(action.kind, action.stage, action.micro_batch)] = {start, end};
    looking_[end].push_back(static_cast<std::size_t>(file_.program.rank_of(action).value));
  }

  [[nodiscard]] bool ended(ActionKind kind, StageId stage, MicroBatchId micro_batch) const {
    const auto found = times_.find(key_of(kind, stage, micro_batch));
    return found != times_.end() && found->second.second <= now_;
  }
  [[nodiscard]] bool backward_ended(StageId stage, MicroBatchId micro_batch) const {
    return ended(ActionKind::kFusedBackward, stage, micro_batch) ||
           ended(ActionKind::kInputGradient, stage, micro_batch);
  }
  [[nodiscard]] bool has_what_it_needs(const Action& action) const {
    const Program& program = file_.program;
    const StageId stage = action.stage;
    const MicroBatchId m = action.micro_batch;
    if (action.kind == ActionKind::kWeightGradient) {
      return ended(ActionKind::kInputGradient, stage, m);
    }
    if (action.kind == ActionKind::kForward) {
      if (!has_previous(program, stage)) return true;
      const StageId from = previous_of(stage);
      return on_one_rank(program, from, stage) ? ended(ActionKind::kForward, from, m)
                                               : ended(ActionKind::kReceiveActivation, stage, m);
    }
    if (!has_next(program, stage)) return ended(ActionKind::kForward, stage, m);
    return on_one_rank(program, next_of(stage), stage)
               ? backward_ended(next_of(stage), m)
               : ended(ActionKind::kReceiveGradient, stage, m);
  }

  const PlanFile& file_;
  const RankLists& lists_;
  std::vector<Rank> ranks_;
  std::int64_t now_ = 0;
  // By instant: the ranks where something ends then.
  std::map<std::int64_t, std::vector<std::size_t>> looking_;
  ByAction<std::pair<std::int64_t, std::int64_t>> times_;  // start and end
};

}  // namespace

RankLists executed_lists(const PlanFile& file, const RankLists& lists, Findings& findings) {
  if (file.executor.transfer != TransferMode::kAsync || file.executor.receive_must_be_posted ||
      file.executor.queues != QueueLayout::kNone) {
    findings.add("/program/rule",
                 "the order of transfers depends on it, so it needs an executor "
                 "with asynchronous transfers and without queues");
    return lists;
  }
  RuleRun rule_run(file, lists);
  if (!rule_run.run()) {
    findings.add("/program/rule", "the lists cannot be executed under it");
    return lists;
  }
  return rule_run.executed();
}

}  // namespace penstock
