// Follows the actions of a replayed Program backwards along what bound their start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/action_rules.h"
#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/timeline.h"
#include "simulator/replay.h"
#include "simulator/step_graph.h"

namespace penstock {

// A part of a rank's step, by its own list: until its first backward, from its last forward on.
enum class Phase { kWarmUp, kSteady, kDrain };

class BindingWalk {
 public:
  static constexpr std::uint32_t kNone = kWaitsForNothing;

  BindingWalk(const Program& program, const Timeline& timeline, const ExecutorModel& executor)
      : program_(program), timeline_(timeline) {
    if (streams_say_all(program, executor)) {
      note_previous(executor);
    } else {
      note_bounds(executor);
    }
    find_last();
  }

  // The predecessor that ended last; kNone when nothing came before.
  [[nodiscard]] std::uint32_t bound_by(std::uint32_t i) const {
    if (!bound_.empty()) return bound_[i];
    const Action& action = program_.actions[i];
    if (action.overlaps_next) {
      return later(later(previous_[i], action.waits_for), program_.actions[i + 1].waits_for);
    }
    if (!is_collective(action.kind)) return last_need(i);
    std::uint32_t latest = kNone;
    for (const std::uint32_t member : members_.at({action.group.value, action.kind})) {
      latest = later(latest, last_need(member));
    }
    return latest;
  }

  [[nodiscard]] SimTime end(std::uint32_t i) const { return timeline_.end[i]; }
  [[nodiscard]] SimTime start(std::uint32_t i) const { return timeline_.start[i]; }
  [[nodiscard]] SimTime makespan_end() const { return makespan_end_; }
  [[nodiscard]] std::uint32_t last() const { return last_; }  // the action that ends the step

 private:
  // Besides its stream's predecessor an action waits for what lowering says, and for nothing that a
  // file lists.
  static bool streams_say_all(const Program& program, const ExecutorModel& executor) {
    const auto& more = program.more_waits;
    return transfers_occupy_senders_at_most(executor) && !program.has_slots() &&
           std::none_of(more.begin(), more.end(), [](const Wait& wait) { return wait.listed; });
  }
  [[nodiscard]] std::uint32_t last_need(std::uint32_t i) const {
    std::uint32_t latest = later(previous_[i], program_.actions[i].waits_for);
    if (program_.more_waits.empty()) return latest;
    for (const Wait& wait : program_.more_waits_of(i)) latest = later(latest, wait.needs);
    return latest;
  }

  // Of several that end together the optimizer or a gather, which end every step; then the one of
  // the first rank. So it does not depend on the order in which lowering comes to the ranks.
  void find_last() {
    const auto place = [&](std::uint32_t i) {
      const Action& action = program_.actions[i];
      return std::tuple(end(i), rule_of(action.kind).updates,
                        -static_cast<int>(program_.rank_of(action).value));
    };
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {
      const ActionKind kind = program_.actions[i].kind;
      if (!is_compute(kind) && !is_collective(kind) && !is_copy(kind)) continue;
      if (last_ == kNone || place(i) > place(last_)) last_ = i;
    }
    if (last_ != kNone) makespan_end_ = end(last_);
  }

  // Transfers occupy nothing, or their sender: the rank's streams and waits_for say it all.
  void note_previous(const ExecutorModel& executor) {
    const HostLink link = executor.host_link;
    const bool sends_block = executor.transfer == TransferMode::kSenderBlocks;
    previous_.assign(program_.actions.size(), kNone);
    std::vector<std::uint32_t> last_in(ranks(), kNone), last_out(ranks(), kNone);
    std::vector<std::uint32_t> last_compute(ranks(), kNone), last_collective(ranks(), kNone);
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {
      const Action& action = program_.actions[i];
      const auto rank = static_cast<std::size_t>(program_.rank_of(action).value);
      if (is_compute(action.kind) || (sends_block && is_send(action.kind))) {
        previous_[i] = std::exchange(last_compute[rank], i);
      } else if (is_copy(action.kind)) {
        const bool in = action.kind == ActionKind::kLoad || link == HostLink::kSimplex;
        previous_[i] = std::exchange((in ? last_in : last_out)[rank], i);
      } else if (is_collective(action.kind)) {
        // Two stages of one rank may belong to one group: none of them comes before the other.
        previous_[i] = std::exchange(last_collective[rank], i);
        if (same_collective(previous_[i], action)) previous_[i] = kNone;
        members_[{action.group.value, action.kind}].push_back(i);
      }
    }
  }

  // Transfers may block ranks and wait for them. Queues are left out: what is ready and waits for
  // its turn in a queue waits for a link, and explain() counts it so.
  void note_bounds(ExecutorModel executor) {
    executor.queues = QueueLayout::kNone;
    const StepGraph graph = step_graph(program_, executor);
    std::vector<std::uint32_t> bound_of_task(graph.action_of_task.size(), kNone);
    for (std::size_t task = 0; task < graph.action_of_task.size(); ++task) {
      const std::uint32_t action = graph.action_of_task[task];
      for (std::uint32_t e = graph.row[task]; e < graph.row[task + 1]; ++e) {
        auto& bound = bound_of_task[graph.next[e]];
        bound = later(bound, action);
      }
    }
    for (const std::uint32_t task : graph.task_of_action) bound_.push_back(bound_of_task[task]);
  }

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(program_.ranks()); }
  [[nodiscard]] bool same_collective(std::uint32_t i, const Action& action) const {
    if (i == kNone) return false;
    return program_.actions[i].group == action.group && program_.actions[i].kind == action.kind;
  }
  [[nodiscard]] std::uint32_t later(std::uint32_t a, std::uint32_t b) const {
    if (a == kNone) return b;
    if (b == kNone) return a;
    return end(b) > end(a) ? b : a;
  }

  const Program& program_;
  const Timeline& timeline_;
  // One of the two ways: what came before on the same compute or collective stream; what bound each
  // action.
  std::vector<std::uint32_t> previous_, bound_;
  std::map<std::pair<std::uint32_t, ActionKind>, std::vector<std::uint32_t>> members_;
  SimTime makespan_end_{};
  std::uint32_t last_ = kNone;
};

}  // namespace penstock
