// The Program of few micro-batches is replayed, and in the middle of its step a window is looked
// for after which every action of every rank comes again, one window of micro-batches and one and
// the same time (the period) later. Then two more are replayed: one that lacks whole windows of the
// wanted one, and the same with a window more.
//
// What is asked of them: on every rank the second is the first with a window put into the middle of
// its list; what stands before it runs at the same times, what stands behind it a period later, the
// end of the step as well; and for as long before the middle as waiting reaches back (reach())
// each action of the second comes again in the next window, a period later.
// Starts are maxima and sums of earlier ends, so that the state in the middle, one period later, is
// followed by the same windows, each a period later, however many there are, and by the same end of
// the step. A gap of a rank is explained by actions that end in it: no gap is longer than what was
// compared, so idle time grows by that of one window.
//
// Relied on, not looked at: the lists of all generators are a beginning, windows, and an end, so
// that those of more micro-batches have only more windows in the middle; and an action waits for
// none further back in the order of micro-batches than reach(). A deadlock is told from two sizes.
//
// Invariant: the summary and the idle times are those of lower() and simulate();
// tests/simulator/steady_program_test.cc compares them on random schedules and executors.
#include "simulator/steady_program.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "simulator/price_table.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

// A Program of fewer times as many is replayed as it is, or, after a first try, one of fewer.
constexpr int kLeastSaved = 6, kLeastSavedLater = 3;

// The actions of the micro-batches of every rank, in its order; then those that end the step.
struct Lists {
  std::vector<std::vector<std::uint32_t>> of_rank;
  std::vector<std::uint32_t> tail;

  explicit Lists(const Program& program) : of_rank(static_cast<std::size_t>(program.ranks())) {
    for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
      const Action& action = program.actions[i];
      if (action.micro_batch == kNoMicroBatch) {
        tail.push_back(i);
      } else {
        of_rank[static_cast<std::size_t>(program.rank_of(action).value)].push_back(i);
      }
    }
  }
};

struct Replayed {
  Program program;
  Timeline timeline;
  Lists lists;

  Replayed(Program of, const StagePrices& prices, const ExecutorModel& executor)
      : program(std::move(of)), timeline(simulate(program, prices, executor)), lists(program) {}

  // Counted from the start of its pipeline.
  [[nodiscard]] std::int64_t micro_batch_of(const Action& action) const {
    const auto pipeline = static_cast<std::size_t>(program.stages[action.stage.value].pipeline);
    return std::int64_t{action.micro_batch.value} - program.pipelines[pipeline].first_micro_batch;
  }
  // What the micro-batch costs: which prices apply.
  [[nodiscard]] const MicroBatch& costs_of(const Action& action) const {
    return program.micro_batches[action.micro_batch.value];
  }
};

// Whether action `b` is action `a` so many micro-batches and so much time later.
bool is_later(const Replayed& of_a, std::uint32_t a, const Replayed& of_b, std::uint32_t b,
              std::int64_t micro_batches, Duration by) {
  const Action& first = of_a.program.actions[a];
  const Action& second = of_b.program.actions[b];
  return first.kind == second.kind && first.stage == second.stage &&
         first.overlaps_next == second.overlaps_next &&
         of_b.timeline.start[b] - of_a.timeline.start[a] == by &&
         of_b.timeline.end[b] - of_a.timeline.end[a] == by &&
         of_b.micro_batch_of(second) - of_a.micro_batch_of(first) == micro_batches &&
         of_a.costs_of(first) == of_b.costs_of(second);
}

class Window {
 public:
  Window(const ManyMicroBatches& many, const Replayed& replayed, std::int64_t micro_batches)
      : many_(many), replayed_(replayed), micro_batches_(micro_batches) {}

  // Whether the middle of the step repeats after so many micro-batches.
  [[nodiscard]] bool repeats(std::int64_t length) const {
    Duration period{-1};
    for (const auto& list : replayed_.lists.of_rank) {
      const std::int64_t all = std::ssize(list), each = all / micro_batches_;
      const std::int64_t window = length * each;
      const std::int64_t from = all / 4, to = all - all / 4 - window;
      if (to < all / 2 || all / 2 - from < reach() * each) return false;
      for (std::int64_t i = to - 1; i >= from; --i) {
        const std::uint32_t here = list[static_cast<std::size_t>(i)];
        const std::uint32_t there = list[static_cast<std::size_t>(i + window)];
        if (period < Duration{}) {
          period = replayed_.timeline.end[there] - replayed_.timeline.end[here];
        }
        if (!is_later(replayed_, here, replayed_, there, length, period)) return false;
      }
    }
    return period >= Duration{};
  }
  // The shortest; 0: none.
  [[nodiscard]] std::int64_t shortest() const {
    const std::int64_t longest = micro_batches_ / 6;
    for (std::int64_t length = many_.unit; length <= longest; length += many_.unit) {
      if (repeats(length)) return length;
    }
    return 0;
  }

 private:
  // Twice as many micro-batches as there are stages, and no fewer than a group of them, which go
  // through a chunk together.
  [[nodiscard]] std::int64_t reach() const {
    return std::max<std::int64_t>(std::int64_t{2} * many_.ranks * many_.chunks, many_.unit);
  }

  const ManyMicroBatches& many_;
  const Replayed& replayed_;
  std::int64_t micro_batches_;
};

// Whether the second is the first with a window put into the middle of every rank's list.
bool goes_on(const Replayed& first, const Replayed& second, std::int64_t length, Duration period) {
  const Lists& a = first.lists;
  const Lists& b = second.lists;
  if (a.of_rank.size() != b.of_rank.size() || a.tail.size() != b.tail.size()) return false;
  for (std::size_t r = 0; r < a.of_rank.size(); ++r) {
    const auto& before = a.of_rank[r];
    const auto& after = b.of_rank[r];
    if (after.size() < before.size()) return false;
    const std::size_t window = after.size() - before.size(), middle = before.size() / 2;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool front = i < middle;
      if (!is_later(first, before[i], second, after[front ? i : i + window], front ? 0 : length,
                    front ? Duration{} : period)) {
        return false;
      }
    }
  }
  for (std::size_t i = 0; i < a.tail.size(); ++i) {
    const Action& one = first.program.actions[a.tail[i]];
    const Action& other = second.program.actions[b.tail[i]];
    if (one.kind != other.kind || one.stage != other.stage) return false;
    if (second.timeline.end[b.tail[i]] - first.timeline.end[a.tail[i]] != period) return false;
  }
  return true;
}

Duration continued(Duration first, Duration second, std::int64_t windows) {
  return first + windows * (second - first);
}

// Idle time has a cause by which of two ranks is busier: which must not change on the way.
bool busier_stay_busier(const SteadyProgram& steady) {
  const auto few = summarize(steady.first, steady.of_first).busy;
  const auto more = summarize(steady.second, steady.of_second).busy;
  const auto all = steady.summary().busy;
  for (std::size_t a = 0; a < few.size(); ++a) {
    for (std::size_t b = 0; b < few.size(); ++b) {
      if ((few[a] > few[b]) != (all[a] > all[b]) || (few[a] > few[b]) != (more[a] > more[b])) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

namespace {

// Enough for what fills and drains a pipeline to be a quarter of the step each, or hardly more.
std::int64_t least_of(const ManyMicroBatches& many) {
  return std::int64_t{9} * many.ranks * many.chunks + 6 * std::int64_t{many.unit};
}

}  // namespace

ManyMicroBatches many_micro_batches(std::int64_t micro_batches, int ranks, int chunks, int group,
                                    int copies) {
  const int unit = chunks == 1 && copies == 1 ? 1 : std::lcm(ranks, std::max(group, 1)) * copies;
  return {micro_batches, ranks, chunks, unit};
}

TimelineSummary SteadyProgram::summary() const {
  const TimelineSummary a = summarize(first, of_first), b = summarize(second, of_second);
  TimelineSummary summary;
  summary.makespan = continued(a.makespan, b.makespan, windows);
  summary.longest_span = continued(a.longest_span, b.longest_span, windows);
  for (std::size_t r = 0; r < a.busy.size(); ++r) {
    summary.busy.push_back(continued(a.busy[r], b.busy[r], windows));
    summary.ideal = std::max(summary.ideal, summary.busy.back());
  }
  return summary;
}

std::vector<RankTime> SteadyProgram::idle(const ExecutorModel& executor, int pipelines) const {
  std::vector<RankTime> ranks = attribute_idle(first, of_first, executor, pipelines);
  const std::vector<RankTime> longer = attribute_idle(second, of_second, executor, pipelines);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (Duration RankTime::*part :
         {&RankTime::busy, &RankTime::warm_up, &RankTime::drain, &RankTime::imbalance,
          &RankTime::order, &RankTime::transfer, &RankTime::barrier}) {
      ranks[r].*part = continued(ranks[r].*part, longer[r].*part, windows);
    }
  }
  return ranks;
}

std::int64_t SteadyProgram::actions() const {
  const std::int64_t few = std::ssize(first.actions);
  return few + windows * (std::ssize(second.actions) - few);
}

std::optional<bool> deadlocks(const ManyMicroBatches& many, const LowerFewer& lower,
                              const ExecutorModel& executor) {
  const std::int64_t few = least_of(many);
  if (kLeastSaved * few > many.micro_batches) return std::nullopt;
  const std::int64_t fewer = many.micro_batches - few - (many.micro_batches - few) % many.unit;
  const bool one = deadlock(lower(fewer), executor).has_value();
  const bool other = deadlock(lower(fewer - many.unit), executor).has_value();
  return one == other ? std::optional(one) : std::nullopt;
}

std::optional<SteadyProgram> steady_program(const ManyMicroBatches& many, const LowerFewer& lower,
                                            const StagePrices& prices,
                                            const ExecutorModel& executor) {
  const std::int64_t all = many.micro_batches, unit = many.unit;
  std::int64_t few = least_of(many);
  for (int saved = kLeastSaved; saved * few <= all; few *= 2, saved = kLeastSavedLater) {
    const std::int64_t count = few + (all - few) % unit;
    Replayed look(lower(all - count), prices, executor);
    const std::int64_t length = Window(many, look, count).shortest();
    if (length == 0) continue;
    const std::int64_t least = count + (all - count) % length;
    const std::int64_t windows = (all - least) / length;
    Replayed first =
        least == count ? std::move(look) : Replayed(lower(all - least), prices, executor);
    Replayed second(lower(all - least - length), prices, executor);
    const Duration period = second.timeline.step_end - first.timeline.step_end;
    if (!goes_on(first, second, length, period) ||
        !Window(many, second, least + length).repeats(length)) {
      continue;
    }
    SteadyProgram steady{std::move(first.program), std::move(second.program),
                         std::move(first.timeline), std::move(second.timeline), windows};
    const PriceTable table(steady.first, prices, executor);
    table.check_sum(static_cast<std::size_t>(steady.actions()));  // as of all of them
    if (busier_stay_busier(steady)) return steady;
  }
  return std::nullopt;
}

}  // namespace penstock
