#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "core/check_parts.h"

namespace penstock {
namespace {

// Steps from instant to instant. At each one every idle rank looks at its list, the rule may move a
// forward to the front, and what can start starts; what that makes arrive at the same instant is
// seen when all have looked.
class RuleRun {
 public:
  RuleRun(const PlanFile& file, const RankLists& lists) : file_(file), lists_(lists) {
    for (const std::vector<Action>& list : lists) {
      Rank& rank = ranks_.emplace_back();
      for (const Action& action : list) {
        if (in_pipeline(action)) rank.left.push_back(action);
        rank.forwards_left += action.kind == ActionKind::kForward ? 1 : 0;
      }
    }
  }

  // False when ranks wait for each other.
  bool run() {
    instants_.insert(0);
    while (!instants_.empty()) {
      now_ = *instants_.begin();
      instants_.erase(instants_.begin());
      while (look()) continue;
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
    std::deque<Action> left;  // what it has still to compute, in order
    int forwards_left = 0;
    std::int64_t free = 0;  // when it has computed what it began
  };

  static bool in_pipeline(const Action& action) {
    return action.kind == ActionKind::kForward || action.kind == ActionKind::kRecompute ||
           is_backward(action.kind) || action.kind == ActionKind::kWeightGradient;
  }

  // All idle ranks once; false when none of them could start anything.
  bool look() {
    std::vector<std::size_t> starting;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].free > now_ || ranks_[r].left.empty()) continue;
      if (can_start(ranks_[r])) starting.push_back(r);
    }
    for (const std::size_t r : starting) start(ranks_[r]);
    return !starting.empty();
  }

  bool can_start(Rank& rank) const {
    const Action& head = rank.left.front();
    if (has_what_it_needs(head)) return true;
    if (head.kind != ActionKind::kRecompute) return false;
    if (rank.forwards_left == 0) return file_.program.rule == RunTimeRule::kVarunaRuntime;
    const auto forward = std::find_if(rank.left.begin(), rank.left.end(), [](const Action& a) {
      return a.kind == ActionKind::kForward;
    });
    const bool is_there = has_what_it_needs(*forward);
    if (file_.program.rule == RunTimeRule::kVarunaStrict && !is_there) return false;
    std::rotate(rank.left.begin(), forward, forward + 1);  // it stays there
    return is_there;
  }

  void start(Rank& rank) {
    const Action action = rank.left.front();
    rank.left.pop_front();
    rank.forwards_left -= action.kind == ActionKind::kForward ? 1 : 0;
    rank.free = now_ + duration_of(file_, action).count();
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
    const std::int64_t arrival = from + duration_of(file_, action).count();
    note(action, from, arrival);
    action.kind = receive;
    action.stage = to;
    note(action, arrival, arrival);
  }

  void note(const Action& action, std::int64_t start, std::int64_t end) {
    times_[key_of(action.kind, action.stage, action.micro_batch)] = {start, end};
    if (end > now_) instants_.insert(end);
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
  std::set<std::int64_t> instants_;                        // at which something ends, still to come
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
    findings.add("/program/rule", "the lists cannot be carried out under it");
    return lists;
  }
  return rule_run.executed();
}

}  // namespace penstock
