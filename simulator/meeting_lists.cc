// A Program's lists become steps rank by rank: a receive is the meeting that its send is at the
// other end, and the members of an OVERLAP are one step. The Program of a window more must be that
// of few with a window put into the middle of every phase (list_phases.h); as many more go there as
// are wanted. Then each phase is rolled up as far as it repeats around its middle.
//
// Which micro-batch a transfer carries need not be compared: ranks whose transfers cross wait for
// ever, and those of one channel meet in turn.
#include "simulator/meeting_lists.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/values/action_rules.h"
#include "simulator/list_phases.h"

namespace penstock {
namespace {

using Step = MeetingLists::Step;
using StepsOfRank = std::vector<Step>;

// Steps of Programs of the same stages, with costs that they share.
class StepMaker {
 public:
  explicit StepMaker(std::vector<MeetingLists::Cost>& costs) : costs_(costs) {}

  // Also which step an action at each position of the rank's list is a part of. False where
  // something waits for what is neither in its rank's list nor at the other end of a transfer.
  bool make(const ListedProgram& listed, std::size_t rank, StepsOfRank& steps,
            std::vector<std::size_t>& step_at) {
    const Program& program = listed.program;
    steps.reserve(listed.lists.of_rank[rank].size());
    step_at.reserve(listed.lists.of_rank[rank].size());
    for (const std::uint32_t i : listed.lists.of_rank[rank]) {
      const Action& action = program.actions[i];
      if (i > 0 && program.actions[i - 1].overlaps_next) {  // stands in its step already
        step_at.push_back(steps.size() - 1);
        if (waits_elsewhere(program, i)) return false;
        continue;
      }
      step_at.push_back(steps.size());
      if (!is_receive(action.kind) && waits_elsewhere(program, i)) return false;
      if (is_compute(action.kind)) {
        steps.push_back(compute(program, i));
      } else if (rule_of(action.kind).lane == Lane::kWire) {
        steps.push_back(meeting(program, action));
      } else {
        return false;
      }
    }
    return true;
  }

 private:
  // For something that does not stand before it in its rank's list.
  static bool waits_elsewhere(const Program& program, std::uint32_t i) {
    bool elsewhere = false;
    for_each_wait(program, i, [&](std::uint32_t needed) {
      const Action& before = program.actions[needed];
      elsewhere = elsewhere || before.micro_batch == kNoMicroBatch ||
                  program.rank_of(before) != program.rank_of(program.actions[i]);
    });
    return elsewhere;
  }

  static MeetingLists::Cost::Of cost_of(const Program& program, const Action& action) {
    return {action.kind, action.stage, program.micro_batches[action.micro_batch.value].shape};
  }

  Step compute(const Program& program, std::uint32_t i) {
    const Action& action = program.actions[i];
    MeetingLists::Cost cost{cost_of(program, action), {}, action.overlaps_next};
    Step step;
    if (completes_gradient(action.kind)) step.completes = action.stage.value;
    if (cost.is_pair) {
      const Action& second = program.actions[i + 1];
      cost.second = cost_of(program, second);
      if (completes_gradient(second.kind)) step.completes = second.stage.value;
    }
    step.cost = number_of(cost);
    return step;
  }

  Step meeting(const Program& program, const Action& action) {
    const Action& send = is_send(action.kind) ? action : program.actions[action.waits_for];
    const Stage& from = program.stages[send.stage.value];
    const RankId to = program.stages[other_end(from, send.kind).value].rank;
    Step step;
    step.cost = number_of({cost_of(program, send), {}, false});
    step.peer = is_send(action.kind) ? to.value : from.rank.value;
    step.channel =
        2 * std::uint32_t{send.stage.value} + (send.kind == ActionKind::kSendGradient ? 1 : 0);
    return step;
  }

  std::uint32_t number_of(const MeetingLists::Cost& cost) {
    const auto key = [](const MeetingLists::Cost::Of& of) {
      return std::tuple(of.kind, of.stage.value, of.shape);
    };
    const Key both{key(cost.first), key(cost.second)};
    // The last of such kind, as a rank's steps are much the same.
    auto& [last, number] = last_[static_cast<std::size_t>(cost.first.kind)];
    if (last == both) return number;
    const auto [entry, fresh] =
        numbers_.try_emplace(both, static_cast<std::uint32_t>(costs_.size()));
    if (fresh) costs_.push_back(cost);
    last = both;
    number = entry->second;
    return number;
  }

  using Of = std::tuple<ActionKind, std::uint16_t, int>;
  using Key = std::pair<Of, Of>;
  static constexpr Key kNone{{ActionKind::kForward, 0, -1}, {ActionKind::kForward, 0, -1}};
  std::vector<MeetingLists::Cost>& costs_;
  std::map<Key, std::uint32_t> numbers_;
  std::vector<std::pair<Key, std::uint32_t>> last_{kActionKinds, {kNone, 0}};
};

// A window in a rank's steps: `length` of them from `middle` on.
struct StepWindow {
  std::size_t middle = 0, length = 0;
};

// One per phase. Nothing where a window does not lie within the list.
std::optional<std::vector<StepWindow>> windows_of(const RankPhases& phases,
                                                  const std::vector<std::size_t>& step_at,
                                                  std::int64_t micro_batches) {
  std::vector<StepWindow> windows;
  for (const ListPhase& phase : phases.phases()) {
    const std::size_t end = phase.middle + static_cast<std::size_t>(phase.each * micro_batches);
    if (phase.each == 0) continue;
    if (end >= step_at.size()) return std::nullopt;
    windows.push_back({step_at[phase.middle], step_at[end] - step_at[phase.middle]});
  }
  return windows;
}

// How far around its middle a window comes again and again.
struct Run {
  std::size_t begin = 0, end = 0;
};
Run run_of(const StepsOfRank& steps, const StepWindow& window, std::size_t from) {
  Run run{window.middle, window.middle + window.length};
  while (run.begin > from && steps[run.begin - 1] == steps[run.begin - 1 + window.length]) {
    --run.begin;
  }
  while (run.end < steps.size() && steps[run.end] == steps[run.end - window.length]) ++run.end;
  return run;
}

// Whether `more` is `few` with a window more in every middle.
bool has_a_window_more(const StepsOfRank& few, const std::vector<StepWindow>& windows,
                       const StepsOfRank& more) {
  StepsOfRank expected;
  expected.reserve(more.size());
  std::size_t from = 0;
  for (const StepWindow& window : windows) {
    const auto middle = few.begin() + static_cast<std::ptrdiff_t>(window.middle);
    expected.insert(expected.end(), few.begin() + static_cast<std::ptrdiff_t>(from), middle);
    expected.insert(expected.end(), middle, middle + static_cast<std::ptrdiff_t>(window.length));
    from = window.middle;
  }
  expected.insert(expected.end(), few.begin() + static_cast<std::ptrdiff_t>(from), few.end());
  return expected == more;
}

class ListRoller {
 public:
  ListRoller(MeetingLists& lists, std::int64_t more_windows)
      : lists_(lists), more_windows_(more_windows) {}

  // False where a window that must be put in does not come again.
  bool add_rank(const StepsOfRank& steps, const std::vector<StepWindow>& windows) {
    lists_.begin.push_back(lists_.blocks.size());
    std::size_t from = 0;
    for (const StepWindow& window : windows) {
      if (window.length == 0 || window.middle < from) {
        if (more_windows_ > 0) return false;
        continue;
      }
      const Run run = run_of(steps, window, from);
      const std::size_t repeats = (run.end - run.begin) / window.length;
      if (repeats < 2 && more_windows_ > 0) return false;
      if (repeats < 2) continue;
      add(steps, from, run.begin, 1);
      add(steps, run.begin, run.begin + window.length,
          static_cast<std::int64_t>(repeats) + more_windows_);
      from = run.begin + repeats * window.length;
    }
    add(steps, from, steps.size(), 1);
    return true;
  }

 private:
  void add(const StepsOfRank& steps, std::size_t from, std::size_t to, std::int64_t repeat) {
    if (from == to) return;
    const auto begin = static_cast<std::uint32_t>(lists_.steps.size());
    lists_.steps.insert(lists_.steps.end(), steps.begin() + static_cast<std::ptrdiff_t>(from),
                        steps.begin() + static_cast<std::ptrdiff_t>(to));
    lists_.blocks.push_back({begin, static_cast<std::uint32_t>(lists_.steps.size()), repeat});
  }

  MeetingLists& lists_;
  std::int64_t more_windows_;
};

// Of a Program and one of a window more, if any more windows are wanted.
std::shared_ptr<const MeetingLists> rolled_up(const ListedProgram& few, const ListedProgram* more,
                                              std::int64_t unit, std::int64_t windows) {
  auto lists = std::make_shared<MeetingLists>();
  StepMaker maker(lists->costs);
  ListRoller roller(*lists, windows);
  for (std::size_t r = 0; r < few.lists.of_rank.size(); ++r) {
    StepsOfRank steps, steps_of_more;
    std::vector<std::size_t> step_at, step_at_of_more;
    if (!maker.make(few, r, steps, step_at)) return nullptr;
    auto within = windows_of(few.phases[r], step_at, unit);
    if (more != nullptr) {
      if (!within || !maker.make(*more, r, steps_of_more, step_at_of_more) ||
          !has_a_window_more(steps, *within, steps_of_more)) {
        return nullptr;
      }
    }
    if (!within) within.emplace();
    if (!roller.add_rank(steps, *within)) return nullptr;
  }
  lists->begin.push_back(lists->blocks.size());
  const std::int64_t actions = std::ssize(few.program.actions);
  const std::int64_t window = more == nullptr ? 0 : std::ssize(more->program.actions) - actions;
  lists->actions = actions + windows * window;
  return lists;
}

// More than fill and drain a pipeline. Where that shows no window, or phases of a list cannot be
// told apart (GPipe, breadth first), twice as many are tried, and so on.
constexpr int kTries = 6;
std::int64_t few_of(const ManyMicroBatches& many) {
  return std::int64_t{3} * many.ranks * many.chunks + 2 * std::int64_t{many.unit};
}

}  // namespace

bool ranks_meet(const ExecutorModel& executor) {
  // Queues and posted receives add nothing where a transfer keeps both compute streams busy.
  return executor.transfer == TransferMode::kRendezvous;
}

std::shared_ptr<const MeetingLists> meeting_lists(const ManyMicroBatches& many,
                                                  const LowerFewer& lower) {
  const std::int64_t all = many.micro_batches;
  const std::int64_t reach = std::int64_t{2} * many.ranks * many.chunks;
  const auto listed = [&](std::int64_t micro_batches) {
    return ListedProgram(lower(all - micro_batches), std::max<std::int64_t>(micro_batches, 1),
                         reach);
  };
  std::int64_t few = few_of(many);
  for (int i = 0; i < kTries; ++i, few *= 2) {
    if (std::min(all, few + many.unit) > many.most_at_once) break;
    if (all < 2 * few) return rolled_up(listed(all), nullptr, many.unit, 0);
    const std::int64_t least = few + (all - few) % many.unit;
    const ListedProgram of_few = listed(least), of_more = listed(least + many.unit);
    auto lists = rolled_up(of_few, &of_more, many.unit, (all - least) / many.unit);
    if (lists != nullptr) return lists;
  }
  return nullptr;
}

}  // namespace penstock
