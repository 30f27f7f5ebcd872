// The checker's own replay, written from docs/cost_model.md and docs/schedules.md without the
// replay engines, so that an error of theirs does not repeat here. Every thing that takes time is a
// node of a graph, every rule (data, streams, queues, slots, listed waits) adds edges from what
// must have ended before; longest paths then give the earliest start of each node. Invariant: an
// edge is added for every rule whether or not another implies it, so the answer does not rest on an
// order of events.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/check/check_parts.h"
#include "core/check/longest_path.h"
#include "core/check/slot_order.h"

namespace penstock {
namespace {

// A compute action is one node; so is an OVERLAP (both of its members), a transfer (its SEND and
// its RECV) and a collective (all of its members). Each starts as soon as all that it must follow
// have ended.
class Replay {
  using Node = LongestPath::Node;

 public:
  Replay(const PlanFile& file, const RankLists& lists, Findings& findings)
      : file_(file),
        program_(file.program),
        executor_(file.executor),
        lists_(lists),
        findings_(findings),
        node_of_(lists.size()) {}

  Duration run() {
    for (std::size_t r = 0; r < lists_.size(); ++r) add_nodes(r);
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      add_dependencies(r);
      add_streams(r);
      add_queues(r);
      follow_slots(file_, r, lists_[r], node_of_[r], network_);
    }
    add_listed_waits();
    const LongestPath::Times times = network_.times();
    if (!times.stuck.empty()) return report_stuck(times.stuck);
    return compare(times);
  }

 private:
  // ---- what there is -------------------------------------------------------------------------

  void add_nodes(std::size_t r) {
    node_of_[r].reserve(lists_[r].size());
    for (std::size_t at = 0; at < lists_[r].size(); ++at) {
      const Action& action = lists_[r][at];
      const Node node = is_second(r, at) ? node_of_[r].back() : node_for(r, at);
      node_of_[r].push_back(node);
      if (is_compute(action.kind)) {
        computed_[key_of(action.kind, action.stage, action.micro_batch)] = node;
      }
      const bool gradient =
          action.kind == ActionKind::kWeightGradient || action.kind == ActionKind::kFusedBackward;
      if (gradient) last_gradient_[action.stage] = last_gradient_of_rank_[r] = node;
      if (action.kind == ActionKind::kTiedReduce) tied_[action.stage].push_back(node);
      if (action.kind == ActionKind::kReduceGradient) reduced_[action.stage].push_back(node);
      if (action.kind == ActionKind::kNorm) norm_of_rank_[r] = node;
    }
  }

  // Of an OVERLAP; its first member has the node of both.
  [[nodiscard]] bool is_second(std::size_t r, std::size_t at) const {
    return at > 0 && lists_[r][at - 1].overlaps_next;
  }

  Node node_for(std::size_t r, std::size_t at) {
    const Action& action = lists_[r][at];
    if (action.overlaps_next) {
      return network_.add(duration_of_pair(file_, action, lists_[r][at + 1]).count());
    }
    if (is_compute(action.kind)) {
      return network_.add(duration_of(file_, action).count());
    }
    if (is_copy(action.kind) || action.kind == ActionKind::kReshard) {
      return network_.add(duration_of(file_, action).count());
    }
    if (!is_collective(action.kind)) return transfer_node(action);
    const auto key = std::make_pair(action.group, action.kind);
    const auto known = collectives_.find(key);
    const Duration duration = duration_of(file_, action);
    if (known == collectives_.end()) return collectives_[key] = network_.add(duration.count());
    network_.at_least(known->second, duration.count());
    return known->second;
  }

  // A transfer goes by the name of its SEND.
  [[nodiscard]] static Action send_of(Action action) {
    if (action.kind == ActionKind::kReceiveActivation) {
      action.kind = ActionKind::kSendActivation;
      action.stage = previous_of(action.stage);
    } else if (action.kind == ActionKind::kReceiveGradient) {
      action.kind = ActionKind::kSendGradient;
      action.stage = next_of(action.stage);
    }
    return action;
  }

  Node transfer_node(const Action& action) {
    const Action send = send_of(action);
    const std::uint64_t key = key_of(send.kind, send.stage, send.micro_batch);
    const auto known = transfers_.find(key);
    if (known != transfers_.end()) return known->second;
    return transfers_[key] = network_.add(duration_of(file_, send).count());
  }

  // ---- what follows what ---------------------------------------------------------------------

  [[nodiscard]] std::optional<Node> computed(ActionKind kind, StageId stage,
                                             MicroBatchId micro_batch) const {
    const auto found = computed_.find(key_of(kind, stage, micro_batch));
    return found == computed_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::optional<Node> backward(StageId stage, MicroBatchId micro_batch) const {
    const auto fused = computed(ActionKind::kFusedBackward, stage, micro_batch);
    return fused ? fused : computed(ActionKind::kInputGradient, stage, micro_batch);
  }
  [[nodiscard]] Node transfer(ActionKind send, StageId stage, MicroBatchId micro_batch) const {
    return transfers_.at(key_of(send, stage, micro_batch));
  }

  void add_dependencies(std::size_t r) {
    for (std::size_t at = 0; at < lists_[r].size(); ++at) {
      const Action& action = lists_[r][at];
      const Node node = node_of_[r][at];
      const StageId stage = action.stage;
      const MicroBatchId m = action.micro_batch;
      switch (action.kind) {
        case ActionKind::kForward:
          network_.follows(node, input_of(stage, m));
          break;
        case ActionKind::kRecompute:
          // Varuna's runtime never waits with it: it moves a forward to the front or begins at
          // once.
          if (program_.rule == RunTimeRule::kVarunaRuntime) break;
          [[fallthrough]];
        case ActionKind::kInputGradient:
        case ActionKind::kFusedBackward:
          network_.follows(node, output_gradient_of(stage, m));
          break;
        case ActionKind::kWeightGradient:
          network_.follows(node, computed(ActionKind::kInputGradient, stage, m));
          break;
        case ActionKind::kSendActivation:
          network_.follows(node, computed(ActionKind::kForward, stage, m));
          break;
        case ActionKind::kSendGradient:
          network_.follows(node, backward(stage, m));
          break;
        case ActionKind::kUnshard:
          network_.follows(node, computed(ActionKind::kOptimizer, stage, kNoMicroBatch));
          break;
        default:
          add_reduction_dependencies(r, action, node);
          break;
      }
    }
  }

  [[nodiscard]] std::optional<Node> input_of(StageId stage, MicroBatchId m) const {
    if (!has_previous(program_, stage)) return {};
    const StageId from = previous_of(stage);
    return on_one_rank(program_, from, stage) ? computed(ActionKind::kForward, from, m)
                                              : transfer(ActionKind::kSendActivation, from, m);
  }
  [[nodiscard]] std::optional<Node> output_gradient_of(StageId stage, MicroBatchId m) const {
    if (!has_next(program_, stage)) return computed(ActionKind::kForward, stage, m);
    const StageId from = next_of(stage);
    return on_one_rank(program_, from, stage) ? backward(from, m)
                                              : transfer(ActionKind::kSendGradient, from, m);
  }

  // Gradients are complete before they are reduced, reduced before the norm is taken and the
  // weights are changed.
  void add_reduction_dependencies(std::size_t r, const Action& action, Node node) {
    const bool reduction =
        action.kind == ActionKind::kTiedReduce || action.kind == ActionKind::kReduceGradient;
    if (reduction) network_.follows(node, last_gradient_.at(action.stage));
    if (action.kind == ActionKind::kReduceGradient || action.kind == ActionKind::kOptimizer) {
      for (const Node tied : tied_[action.stage]) network_.follows(node, tied);
    }
    if (action.kind == ActionKind::kOptimizer) {
      for (const Node reduced : reduced_[action.stage]) network_.follows(node, reduced);
      // When the check of the norm fails, the first update came before it.
      const bool after = norm_of_rank_.contains(r) && !is_first_update(action);
      if (after) network_.follows(node, norm_of_rank_.at(r));
    }
    if (action.kind == ActionKind::kNorm) network_.follows(node, last_gradient_of_rank_.at(r));
  }

  [[nodiscard]] bool is_first_update(const Action& optimizer) {
    return executor_.optimizer == OptimizerGate::kRolledBack &&
           updated_.insert(optimizer.stage).second;
  }

  // Whether an action keeps its rank's compute stream.
  [[nodiscard]] bool on_compute_stream(const Action& action) const {
    if (is_compute(action.kind)) return true;
    if (executor_.transfer == TransferMode::kRendezvous) {
      return is_send(action.kind) || is_receive(action.kind);
    }
    return executor_.transfer == TransferMode::kSenderBlocks && is_send(action.kind);
  }

  // Each stream of a rank runs one thing after the other, in list order.
  void add_streams(std::size_t r) {
    std::optional<Node> compute, collective;
    for (std::size_t at = 0; at < lists_[r].size(); ++at) {
      const Action& action = lists_[r][at];
      const Node node = node_of_[r][at];
      if (is_receive(action.kind) && executor_.receive_must_be_posted) {
        network_.follows(node, compute);
      }
      if (on_compute_stream(action)) {
        network_.follows(node, compute);
        compute = node;
      }
      if (is_collective(action.kind)) {
        network_.follows(node, collective);
        collective = node;
      }
    }
  }

  // What the file lists beyond the rules.
  void add_listed_waits() {
    if (program_.more_waits.empty()) return;
    if (program_.rule != RunTimeRule::kNone) {
      findings_.add("/program/waits", "a run-time rule changes the order that they are listed for");
      return;
    }
    std::vector<Node> node;
    std::vector<std::size_t> next(lists_.size(), 0);
    node.reserve(program_.actions.size());
    for (const Action& action : program_.actions) {
      const auto r = static_cast<std::size_t>(program_.rank_of(action).value);
      node.push_back(node_of_[r][next[r]++]);
    }
    for (const Wait& wait : program_.more_waits) {
      if (wait.listed) network_.follows(node[wait.action], node[wait.needs]);
    }
  }

  // The transfers of one queue run one after the other, in list order.
  void add_queues(std::size_t r) {
    if (executor_.queues == QueueLayout::kNone) return;
    std::map<std::pair<int, bool>, Node>
        last;  // (peer, outwards), as far as the layout tells apart
    for (std::size_t at = 0; at < lists_[r].size(); ++at) {
      const Action& action = lists_[r][at];
      if (!is_send(action.kind) && !is_receive(action.kind)) continue;
      const auto queue = queue_of(action);
      const auto before = last.find(queue);
      if (before != last.end()) network_.follows(node_of_[r][at], before->second);
      last[queue] = node_of_[r][at];
    }
  }
  [[nodiscard]] std::pair<int, bool> queue_of(const Action& action) const {
    if (executor_.queues == QueueLayout::kPerRank) return {0, false};
    const bool to_next =
        action.kind == ActionKind::kSendActivation || action.kind == ActionKind::kReceiveGradient;
    const StageId other = to_next ? next_of(action.stage) : previous_of(action.stage);
    const int peer = program_.stages[other.value].rank.value;
    return {peer, executor_.queues == QueueLayout::kPerDirection && is_send(action.kind)};
  }

  // ---- the answer ----------------------------------------------------------------------------

  Duration report_stuck(const std::vector<Node>& stuck) {
    constexpr std::size_t kShown = 8;
    const std::set<Node> shown(
        stuck.begin(), stuck.begin() + static_cast<std::ptrdiff_t>(std::min(stuck.size(), kShown)));
    std::string names;
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      for (std::size_t at = 0; at < lists_[r].size(); ++at) {
        if (!shown.contains(node_of_[r][at])) continue;
        names += (names.empty() ? "" : ", ") + name_of(program_, lists_[r][at]);
      }
    }
    findings_.add("/program", std::to_string(stuck.size()) +
                                  " actions wait for each other under the executor model: " +
                                  names + (stuck.size() > kShown ? ", .." : ""));
    return {};
  }

  // A rank's time runs from the start of its first compute action to the end of its last action.
  struct RankTimes {
    std::int64_t first = 0, last = 0, busy = 0;
  };
  [[nodiscard]] RankTimes times_of(std::size_t r, const LongestPath::Times& times) const {
    RankTimes rank;
    bool started = false;
    for (std::size_t at = 0; at < lists_[r].size(); ++at) {
      const Node node = node_of_[r][at];
      rank.last = std::max(rank.last, times.end[node]);
      if (!is_compute(lists_[r][at].kind) || is_second(r, at)) continue;
      if (!started) rank.first = times.start[node];
      started = true;
      rank.busy = sum_of(rank.busy, times.end[node] - times.start[node]);
    }
    return rank;
  }

  Duration compare(const LongestPath::Times& times) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0, span = 0, ideal = 0;
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      const RankTimes rank = times_of(r, times);
      begin = std::min(begin, rank.first);
      end = std::max(end, rank.last);
      span = std::max(span, rank.last - rank.first);
      ideal = std::max(ideal, rank.busy);
      if (static_cast<int>(r) < file_.plan.listed_ranks()) compare_rank(r, rank.busy);
    }
    if (end == std::numeric_limits<std::int64_t>::max()) {
      findings_.add("/prices", "the durations add up to more than 64 bits");
      return {};
    }
    const Evaluation& prediction = file_.prediction;
    const bool barrier = executor_.optimizer != OptimizerGate::kPostValidation;
    const Duration makespan{end - begin};
    const Duration step = (barrier ? makespan : Duration{span}) + executor_.per_step;
    equal(makespan, prediction.makespan, "/prediction", "makespan");
    equal(Duration{span}, prediction.longest_span, "/prediction", "longest span");
    equal(Duration{ideal}, prediction.ideal, "/prediction", "ideal");
    equal(step, prediction.step_time, "/prediction", "step time");
    return step;
  }

  // The prediction accounts for every nanosecond of a rank up to the end of the step.
  void compare_rank(std::size_t r, std::int64_t busy) {
    const RankTime& time = file_.prediction.ranks[r].time;
    const std::string place = "rank " + std::to_string(r);
    equal(Duration{busy}, time.busy, place, "busy");
    equal(file_.prediction.makespan,
          time.busy + time.warm_up + time.drain + time.imbalance + time.order + time.transfer +
              time.barrier,
          place, "busy and idle times in all");
  }

  void equal(Duration expected, Duration found, const std::string& place, const std::string& what) {
    if (expected == found) return;
    findings_.add(place, what + ": expected " + std::to_string(expected.count()) +
                             " ns, the prediction says " + std::to_string(found.count()) + " ns");
  }

  const PlanFile& file_;
  const Program& program_;
  const ExecutorModel& executor_;
  const RankLists& lists_;
  Findings& findings_;

  LongestPath network_;
  std::vector<std::vector<Node>> node_of_;  // [rank][position]
  ByAction<Node> computed_, transfers_;
  std::map<std::pair<GroupId, ActionKind>, Node> collectives_;
  std::map<StageId, Node> last_gradient_;
  std::map<std::size_t, Node> last_gradient_of_rank_, norm_of_rank_;
  std::map<StageId, std::vector<Node>> tied_, reduced_;
  std::set<StageId> updated_;
};

}  // namespace

Duration check_replay(const PlanFile& file, const RankLists& lists, Findings& findings) {
  return Replay(file, lists, findings).run();
}

}  // namespace penstock
