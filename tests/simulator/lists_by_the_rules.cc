#include "tests/simulator/lists_by_the_rules.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace penstock::testing {
namespace {

using End = std::optional<std::int64_t>;

// Sweeps over all actions until none is left; an action runs when everything that it must follow
// has. What that is, is looked for in the lists each time.
class Sweeps {
 public:
  Sweeps(const Program& program, const StagePrices& prices, const ExecutorModel& executor)
      : program_(program), prices_(prices), executor_(executor), times_(program.actions.size()) {
    ranks_.resize(static_cast<std::size_t>(program.ranks()));
    for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
      place_.push_back(rank(i).size());
      rank(i).push_back(i);
    }
  }

  ActionTimes run() {
    std::size_t left = times_.size();
    while (left > 0) {
      const std::size_t before = left;
      for (std::uint32_t i = 0; i < times_.size(); ++i) left -= run_what_can(i);
      if (left == before) throw std::logic_error("nothing can run: " + names_left());
    }
    ActionTimes result;
    for (const auto& [start, end] : times_) {
      result.start.push_back(*start);
      result.end.push_back(*end);
    }
    for (const auto& list : ranks_) result.most_slots.push_back(most_slots(list));
    return result;
  }

 private:
  using K = ActionKind;
  const Action& at(std::uint32_t i) const { return program_.actions[i]; }
  std::vector<std::uint32_t>& rank(std::uint32_t i) {
    return ranks_[static_cast<std::size_t>(program_.rank_of(at(i)).value)];
  }
  [[nodiscard]] const std::vector<std::uint32_t>& rank(std::uint32_t i) const {
    return ranks_[static_cast<std::size_t>(program_.rank_of(at(i)).value)];
  }

  [[nodiscard]] std::string names_left() const {
    std::string names;
    for (std::uint32_t i = 0; i < times_.size(); ++i) {
      if (!times_[i].second) names += name_of(program_, at(i)) + " ";
    }
    return names;
  }

  // How many actions ran.
  std::size_t run_what_can(std::uint32_t i) {
    if (times_[i].second) return 0;
    const bool second = i > 0 && at(i - 1).overlaps_next;
    if (second) return 0;  // runs with its first
    std::vector<std::uint32_t> together = members_of(i);
    std::int64_t begin = 0;
    for (const std::uint32_t member : together) {
      const End ready = ready_at(member);
      if (!ready) return 0;
      begin = std::max(begin, *ready);
    }
    const std::int64_t end = begin + duration(i);
    // Only this one: the sweep comes to the members of a collective one by one.
    times_[i] = {begin, end};
    if (!at(i).overlaps_next) return 1;
    times_[i + 1] = {begin, end};
    return 2;
  }

  // What starts and ends with it.
  [[nodiscard]] std::vector<std::uint32_t> members_of(std::uint32_t i) const {
    if (at(i).overlaps_next) return {i, i + 1};
    if (!is_collective(at(i).kind)) return {i};
    std::vector<std::uint32_t> members;
    for (std::uint32_t k = 0; k < times_.size(); ++k) {
      if (at(k).kind == at(i).kind && at(k).group == at(i).group) members.push_back(k);
    }
    return members;
  }

  // When all that action `i` itself needs has ended; nothing while something has not.
  [[nodiscard]] End ready_at(std::uint32_t i) const {
    ready_ = 0;
    const Action& action = at(i);
    const Stage& stage = program_.stages[action.stage.value];
    const bool backward = is_backward(action.kind) || action.kind == K::kRecompute;
    if (is_compute(action.kind)) follow(before(i, is_compute));
    if (is_collective(action.kind)) {
      const auto same = [&](std::uint32_t k) {
        return at(k).kind == action.kind && at(k).group == action.group;
      };
      const auto previous = before(i, is_collective);
      if (previous && !same(*previous)) follow(previous);
    }
    if (is_copy(action.kind))
      follow(before(i, [&](K kind) { return shares_lane(kind, action.kind); }));
    if (action.kind == K::kForward && stage.previous != kNoStage) input(i, stage.previous);
    if (backward && stage.next != kNoStage) gradient(i, stage.next);
    if (backward && stage.next == kNoStage) follow(find(K::kForward, action.stage, i));
    if (action.kind == K::kWeightGradient) follow(find(K::kInputGradient, action.stage, i));
    if (action.kind == K::kSendActivation) follow(find(K::kForward, action.stage, i));
    if (action.kind == K::kSendGradient) follow(backward_of(action.stage, i));
    if (action.kind == K::kReceiveActivation) follow(find(K::kSendActivation, stage.previous, i));
    if (action.kind == K::kReceiveGradient) follow(find(K::kSendGradient, stage.next, i));
    end_of_step(i);
    slots(i);
    for (const Wait& wait : program_.more_waits) {
      if (wait.listed && wait.action == i) follow(wait.needs);
    }
    return ready_;
  }

  void follow(std::optional<std::uint32_t> earlier) const {
    if (!earlier || !ready_) return;
    const End end = times_[*earlier].second;
    ready_ = end ? End(std::max(*ready_, *end)) : End();
  }

  // The last one before it on its rank.
  template <class Is>
  [[nodiscard]] std::optional<std::uint32_t> before(std::uint32_t i, const Is& is) const {
    const auto& list = rank(i);
    // Both members of an OVERLAP follow what comes before the first.
    std::size_t place = place_[i];
    if (place > 0 && at(list[place - 1]).overlaps_next && list[place - 1] + 1 == i) --place;
    for (; place > 0; --place) {
      if (is(at(list[place - 1]).kind)) return list[place - 1];
    }
    return {};
  }
  [[nodiscard]] bool shares_lane(K one, K other) const {
    return is_copy(one) && (one == other || executor_.host_link == HostLink::kSimplex);
  }

  [[nodiscard]] std::optional<std::uint32_t> find(K kind, StageId stage, std::uint32_t i) const {
    for (std::uint32_t k = 0; k < times_.size(); ++k) {
      const Action& found = at(k);
      if (found.kind == kind && found.stage == stage && found.micro_batch == at(i).micro_batch) {
        return k;
      }
    }
    return {};
  }
  [[nodiscard]] std::optional<std::uint32_t> backward_of(StageId stage, std::uint32_t i) const {
    const auto fused = find(K::kFusedBackward, stage, i);
    return fused ? fused : find(K::kInputGradient, stage, i);
  }
  void input(std::uint32_t i, StageId from) const {
    const auto receive = find(K::kReceiveActivation, at(i).stage, i);
    follow(receive ? receive : find(K::kForward, from, i));
  }
  void gradient(std::uint32_t i, StageId from) const {
    const auto receive = find(K::kReceiveGradient, at(i).stage, i);
    follow(receive ? receive : backward_of(from, i));
  }

  // Everything of the stage (or rank) that `is`, wherever it stands.
  template <class Is>
  void follow_all(std::uint32_t i, bool of_rank, const Is& is) const {
    for (const std::uint32_t k : rank(i)) {
      if (k != i && is(at(k).kind) && (of_rank || at(k).stage == at(i).stage)) follow(k);
    }
  }

  void end_of_step(std::uint32_t i) const {
    const K kind = at(i).kind;
    const auto is_gradient = [](K of) { return completes_gradient(of); };
    if (kind == K::kTiedReduce || kind == K::kReduceGradient) follow_all(i, false, is_gradient);
    if (kind == K::kReduceGradient) follow_all(i, false, [](K of) { return of == K::kTiedReduce; });
    if (kind == K::kNorm) follow_all(i, true, is_gradient);
    if (kind == K::kOptimizer) {
      follow(before(i, [](K of) { return of == K::kNorm; }));
      follow_all(i, false, [](K of) { return of == K::kReduceGradient || of == K::kTiedReduce; });
    }
    if (kind == K::kUnshard) follow_all(i, false, [](K of) { return of == K::kOptimizer; });
  }

  // ---- slots: positions in the list of the rank ------------------------------------------------

  [[nodiscard]] int slots_of(std::uint32_t i) const {
    const auto p = static_cast<std::size_t>(program_.stages[at(i).stage.value].pipeline);
    return program_.pipelines[p].weight_slots;
  }
  static bool needs_slot(K kind) {
    return is_compute(kind) || (is_collective(kind) && kind != K::kNorm);
  }
  // The LOAD that brought its stage; nothing when it was there all along.
  [[nodiscard]] std::optional<std::uint32_t> load_of(std::uint32_t i) const {
    return last_of_stage(i, [](K kind) { return kind == K::kLoad; });
  }
  template <class Is>
  [[nodiscard]] std::optional<std::uint32_t> last_of_stage(std::uint32_t i, const Is& is) const {
    const auto& list = rank(i);
    for (std::size_t place = place_[i]; place > 0; --place) {
      const Action& other = at(list[place - 1]);
      if (other.stage == at(i).stage && is(other.kind)) return list[place - 1];
    }
    return {};
  }

  // An OPT of a stage that nothing has changed since it was stored.
  [[nodiscard]] bool is_on_host(std::uint32_t i) const {
    if (at(i).kind != K::kOptimizer) return false;
    const auto& list = rank(i);
    for (std::size_t place = place_[i]; place > 0; --place) {
      const std::uint32_t k = list[place - 1];
      if (at(k).stage != at(i).stage) continue;
      const K kind = at(k).kind;
      if (kind == K::kStore) return true;
      const bool reads = kind == K::kForward || kind == K::kRecompute || kind == K::kInputGradient;
      if (needs_slot(kind) && !reads && !is_on_host(k)) return false;
    }
    return false;
  }

  [[nodiscard]] std::optional<std::uint32_t> last_on_host(std::uint32_t i) const {
    const auto& list = rank(i);
    for (std::size_t place = place_[i]; place > 0; --place) {
      const std::uint32_t k = list[place - 1];
      if (at(k).stage == at(i).stage && is_on_host(k)) return k;
    }
    return {};
  }

  void slots(std::uint32_t i) const {
    const auto copies = [this](std::uint32_t k) { return is_copy(at(k).kind); };
    if (slots_of(i) == 0 && std::none_of(rank(i).begin(), rank(i).end(), copies)) return;
    const K kind = at(i).kind;
    if (is_on_host(i)) return follow(last_of_stage(i, [](K of) { return of == K::kStore; }));
    const auto is_store = [](K of) { return of == K::kStore; };
    if (needs_slot(kind)) {
      follow(load_of(i));
      const bool reads = kind == K::kForward || kind == K::kRecompute || kind == K::kInputGradient;
      if (!reads) follow(last_of_stage(i, is_store));
    }
    if (kind == K::kStore || kind == K::kReshard) {
      follow(load_of(i));
      for (std::size_t place = place_[i]; place > 0; --place) {
        const std::uint32_t k = rank(i)[place - 1];
        if (at(k).stage == at(i).stage && needs_slot(at(k).kind) && !is_on_host(k)) follow(k);
      }
    }
    if (kind == K::kReshard) follow(last_of_stage(i, is_store));
    if (kind == K::kLoad) {
      follow(last_of_stage(i, is_store));
      follow(last_on_host(i));
      if (slots_of(i) > 0) follow(freed_for(i));
    }
  }

  // Of slots that are handed out first come, first served: the RESHARD whose slot this LOAD gets.
  [[nodiscard]] std::optional<std::uint32_t> freed_for(std::uint32_t load) const {
    int free = slots_of(load) - residents(rank(load));
    std::vector<std::uint32_t> freed;
    std::size_t taken = 0;
    for (const std::uint32_t k : rank(load)) {
      if (at(k).kind == K::kReshard) freed.push_back(k);
      if (at(k).kind != K::kLoad) continue;
      if (free > 0) {
        --free;
        if (k == load) return {};
        continue;
      }
      if (k == load) return freed.at(taken);
      ++taken;
    }
    return {};
  }
  // Stages in a slot before the first action.
  [[nodiscard]] int residents(const std::vector<std::uint32_t>& list) const {
    std::vector<StageId> seen;
    int count = 0;
    for (const std::uint32_t k : list) {
      const K kind = at(k).kind;
      if (!needs_slot(kind) && !is_copy(kind) && kind != K::kReshard) continue;
      if (std::find(seen.begin(), seen.end(), at(k).stage) != seen.end()) continue;
      seen.push_back(at(k).stage);
      count += kind == K::kLoad ? 0 : 1;
    }
    return count;
  }
  [[nodiscard]] int most_slots(const std::vector<std::uint32_t>& list) const {
    if (list.empty() || slots_of(list[0]) == 0) return 0;
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const std::uint32_t k : list) {
      if (at(k).kind == K::kLoad) changes.emplace_back(*times_[k].first, 1);
      if (at(k).kind == K::kReshard) changes.emplace_back(*times_[k].second, -1);
    }
    std::sort(changes.begin(), changes.end());  // what is let go is free at once
    int now = residents(list), most = now;
    for (const auto& change : changes) most = std::max(most, now += change.second);
    return most;
  }

  // ---- durations --------------------------------------------------------------------------------

  [[nodiscard]] std::int64_t duration(std::uint32_t i) const {
    if (!at(i).overlaps_next) return alone(i);
    const std::int64_t f = alone(i), b = alone(i + 1);
    return std::max({f, b, f + b - compute(i).overlap_gain.count()});
  }
  [[nodiscard]] const Pipeline& pipeline_of(std::uint32_t i) const {
    return program_
        .pipelines[static_cast<std::size_t>(program_.stages[at(i).stage.value].pipeline)];
  }
  [[nodiscard]] int stage_of(std::uint32_t i) const {
    return at(i).stage.value - pipeline_of(i).first_stage;
  }
  [[nodiscard]] int shape_of(std::uint32_t i) const {
    return program_.micro_batches[at(i).micro_batch.value].shape;
  }
  [[nodiscard]] const ComputePrice& compute(std::uint32_t i) const {
    return prices_.compute_of(stage_of(i), shape_of(i));
  }
  // Of the step, of all copies of its weights together the longest.
  [[nodiscard]] std::int64_t longest(std::uint32_t i, Price StepPrice::*price) const {
    const int per_copy = prices_.stages / pipeline_of(i).copies;
    std::int64_t most = 0;
    for (int s = stage_of(i) % per_copy; s < prices_.stages; s += per_copy) {
      most = std::max(most, (prices_.step[static_cast<std::size_t>(s)].*price).duration.count());
    }
    return most;
  }
  [[nodiscard]] std::int64_t alone(std::uint32_t i) const {
    const auto stage = static_cast<std::size_t>(stage_of(i));
    const std::int64_t more = executor_.per_action.count(), wire = executor_.per_transfer.count();
    switch (at(i).kind) {
      case K::kForward:
        return compute(i).forward.duration.count() + more;
      case K::kInputGradient:
        return compute(i).input_gradient.duration.count() + more;
      case K::kWeightGradient:
        return compute(i).weight_gradient.duration.count() + more;
      case K::kFusedBackward:
        return compute(i).fused_backward.duration.count() + more;
      case K::kRecompute:
        return compute(i).recompute.duration.count() + more;
      case K::kOptimizer:
        return prices_.step[stage].optimizer.duration.count() + more;
      case K::kSendActivation:
        return prices_.transfer_of(stage_of(i), shape_of(i)).activation.duration.count() + wire;
      case K::kSendGradient:
        return prices_.transfer_of(stage_of(i) - 1, shape_of(i)).gradient.duration.count() + wire;
      case K::kReduceGradient:
        return longest(i, &StepPrice::reduce_gradient);
      case K::kUnshard:
        return longest(i, &StepPrice::unshard);
      case K::kNorm:
        return prices_.norm.duration.count();
      case K::kLoad:
        return prices_.step[stage].load.duration.count();
      case K::kStore:
        return prices_.step[stage].store.duration.count();
      case K::kTiedReduce:
        for (const TiedPrice& tie : prices_.tied_reduce) {
          if (tied_group_name(tie.name) == program_.groups[at(i).group.value].name) {
            return tie.reduce.duration.count();
          }
        }
        return 0;
      default:
        return 0;
    }
  }

  const Program& program_;
  const StagePrices& prices_;
  const ExecutorModel& executor_;
  std::vector<std::pair<End, End>> times_;
  std::vector<std::vector<std::uint32_t>> ranks_;  // actions by rank
  std::vector<std::size_t> place_;                 // of an action in the list of its rank
  mutable End ready_;
};

}  // namespace

ActionTimes lists_by_the_rules(const Program& program, const StagePrices& prices,
                               const ExecutorModel& executor) {
  return Sweeps(program, prices, executor).run();
}

}  // namespace penstock::testing
