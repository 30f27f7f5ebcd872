// The Program of few micro-batches is replayed, and in the middle of its step a window is looked
// for after which every action of every rank comes again, one window of micro-batches and one and
// the same time (the period) later. Then two more are replayed: one that lacks whole windows of the
// wanted one, and the same with a window more.
//
// What is asked of them: on every rank the second is the first with a window put into the middle of
// each phase of its list (list_phases.h: one of 1F1B, two of GPipe); what stands before it runs at
// the same times, what stands behind it a period later, the end of the step as well; and for as
// long before the middle as waiting reaches back (reach_of()) each action of the second comes again
// in the next window, a period later. Of several phases nothing may wait for another but along its
// own rank's list, in which every action waits for the one before it anyway.
// Starts are maxima and sums of earlier ends, so that the state in the middle, one period later, is
// followed by the same windows, each a period later, however many there are, and by the same end of
// the step. A gap of a rank is explained by actions that end in it: no gap is longer than what was
// compared, so idle time grows by that of one window.
//
// Relied on, not looked at: the lists of all generators are a beginning, windows, and an end, so
// that those of more micro-batches have only more windows in the middle; and an action waits for
// none further back in the order of micro-batches than reach_of(). A deadlock is told from two
// sizes.
//
// Invariant: the summary and the idle times are those of lower() and simulate();
// tests/simulator/steady_program_test.cc compares them on random schedules and executors.
#include "simulator/steady_program.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "simulator/list_phases.h"
#include "simulator/longer_step.h"
#include "simulator/price_table.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

// A Program of fewer times as many is replayed as it is, or, after a first try, one of fewer.
constexpr int kLeastSaved = 6, kLeastSavedLater = 3;
// Nor is a period looked for in more once so many actions have shown none.
constexpr std::int64_t kMostLookedAt = std::int64_t{1} << 22;

// Twice as many micro-batches as there are stages, and no fewer than a group of them, which go
// through a chunk together.
std::int64_t reach_of(const ManyMicroBatches& many) {
  return std::max<std::int64_t>(std::int64_t{2} * many.ranks * many.chunks, many.unit);
}

class Window {
 public:
  Window(const ManyMicroBatches& many, const ReplayedLists& replayed, std::int64_t micro_batches)
      : many_(many),
        replayed_(replayed),
        micro_batches_(micro_batches),
        ranks_(replayed.of->phases) {}

  // Whether what crosses from phase to phase is seen by comparing phases one by one. Of one phase
  // nothing does; where transfers meet, receives stand in the rank's own list.
  [[nodiscard]] bool is_seen_whole(const ExecutorModel& executor) const {
    return ranks_.front().phases().size() == 1 ||
           replayed_.of->waits_within_phases(executor.transfer == TransferMode::kRendezvous);
  }
  // The periods, if the middle of every phase repeats after so many micro-batches.
  [[nodiscard]] std::optional<Periods> repeats(std::int64_t length) {
    Periods periods(ranks_.front().phases().size(), Duration{-1});
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].phases().size() != periods.size()) return std::nullopt;
      for (std::size_t p = 0; p < periods.size(); ++p) {
        if (!repeats(r, ranks_[r].phases()[p], length, periods[p])) return std::nullopt;
      }
    }
    return periods;
  }
  // The shortest; 0: none.
  [[nodiscard]] std::int64_t shortest() {
    const std::int64_t longest = micro_batches_ / 6;
    for (std::int64_t length = many_.unit; length <= longest; length += many_.unit) {
      if (!fails_as_a_part(length) && repeats(length)) return length;
    }
    return 0;
  }

 private:
  // For a quarter of the phase before its middle, and behind it.
  [[nodiscard]] bool repeats(std::size_t rank, const ListPhase& phase, std::int64_t length,
                             Duration& period) {
    const auto& list = replayed_.of->lists.of_rank[rank];
    const auto middle = static_cast<std::int64_t>(phase.middle);
    const std::int64_t window = length * phase.each, quarter = micro_batches_ * phase.each / 4;
    const std::int64_t from = middle - quarter, to = end_of_compared(phase, length);
    if (from < 0 || middle + quarter > std::ssize(list)) return false;
    if (to < middle || quarter < reach_of(many_) * phase.each) return false;
    for (std::int64_t i = to - 1; i >= from; --i) {
      const std::uint32_t here = list[static_cast<std::size_t>(i)];
      const std::uint32_t there = list[static_cast<std::size_t>(i + window)];
      if (period < Duration{}) {
        period = replayed_.timeline.end[there] - replayed_.timeline.end[here];
      }
      const std::int64_t later = ranks_[rank].advance(static_cast<std::size_t>(i), length);
      if (!is_later(replayed_, here, replayed_, there, later, period)) {
        if (i < to - 1) failures_.push_back({length, &phase, i});
        return false;
      }
    }
    return period >= Duration{};
  }
  [[nodiscard]] std::int64_t end_of_compared(const ListPhase& phase, std::int64_t length) const {
    return static_cast<std::int64_t>(phase.middle) + micro_batches_ * phase.each / 4 -
           length * phase.each;
  }
  // Where all behind an action repeats after a part of the length, but the action does not come
  // again in the next part, it does not in the next but one either.
  [[nodiscard]] bool fails_as_a_part(std::int64_t length) const {
    return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& failure) {
      return length % failure.length == 0 &&
             failure.position < end_of_compared(*failure.phase, length);
    });
  }

  const ManyMicroBatches& many_;
  const ReplayedLists& replayed_;
  std::int64_t micro_batches_;
  const std::vector<RankPhases>& ranks_;
  struct Failure {
    std::int64_t length;
    const ListPhase* phase;
    std::int64_t position;  // of the action that did not come again, while all behind it did
  };
  std::vector<Failure> failures_;
};

// After which all repeats; 0: none is seen.
std::int64_t shortest_window(const ManyMicroBatches& many, const ReplayedLists& replayed,
                             std::int64_t micro_batches, const ExecutorModel& executor) {
  Window window(many, replayed, micro_batches);
  return window.is_seen_whole(executor) ? window.shortest() : 0;
}

Duration continued(Duration first, Duration second, std::int64_t windows) {
  return first + windows * (second - first);
}

// Idle time has a cause by which of two ranks is busier: which must not change on the way.
bool busier_stay_busier(const SteadyProgram& steady) {
  const auto few = summarize(steady.first(), steady.of_first).busy;
  const auto more = summarize(steady.second(), steady.of_second).busy;
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

// Enough for what fills and drains a pipeline to be a quarter of the step each, or hardly more.
std::int64_t least_of(const ManyMicroBatches& many) {
  return std::int64_t{9} * many.ranks * many.chunks + 6 * std::int64_t{many.unit};
}

}  // namespace

ManyMicroBatches many_micro_batches(std::int64_t micro_batches, int ranks, int chunks, int group,
                                    int copies) {
  const int unit = chunks == 1 && copies == 1 ? 1 : std::lcm(ranks, std::max(group, 1)) * copies;
  ManyMicroBatches many;
  many.micro_batches = micro_batches;
  many.ranks = ranks;
  many.chunks = chunks;
  many.unit = unit;
  return many;
}

std::shared_ptr<const PreparedProgram> prepared(Program program, const ManyMicroBatches& many,
                                                std::int64_t fewer, const ExecutorModel& executor) {
  return std::make_shared<const PreparedProgram>(std::move(program), executor,
                                                 many.micro_batches - fewer, reach_of(many));
}

std::size_t actions_of(const PreparedProgram& prepared) { return prepared.program.actions.size(); }

const Program& SteadyProgram::first() const { return of_few->program; }
const Program& SteadyProgram::second() const { return of_more->program; }

TimelineSummary SteadyProgram::summary() const {
  const TimelineSummary a = summarize(first(), of_first), b = summarize(second(), of_second);
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
  std::vector<RankTime> ranks = attribute_idle(first(), of_first, executor, pipelines);
  const std::vector<RankTime> longer = attribute_idle(second(), of_second, executor, pipelines);
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
  const std::int64_t few = std::ssize(first().actions);
  return few + windows * (std::ssize(second().actions) - few);
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
  const PrepareFewer prepare = [&](std::int64_t fewer) {
    return prepared(lower(fewer), many, fewer, executor);
  };
  return steady_program(many, prepare, prices, executor);
}

std::optional<SteadyProgram> steady_program(const ManyMicroBatches& many,
                                            const PrepareFewer& prepare, const StagePrices& prices,
                                            const ExecutorModel& executor) {
  const std::int64_t all = many.micro_batches, unit = many.unit;
  std::int64_t few = least_of(many);
  std::int64_t replayed = 0;
  const auto replay = [&](std::int64_t micro_batches) {
    ReplayedLists of_few(prepare(all - micro_batches), prices, executor);
    replayed += std::ssize(of_few.of->program.actions);
    return of_few;
  };
  for (int saved = kLeastSaved; saved * few <= all; few *= 2, saved = kLeastSavedLater) {
    // Windows are often of P micro-batches, or a part of that: then it lacks whole ones already.
    const std::int64_t count = few + (all - few) % std::lcm(unit, std::int64_t{many.ranks});
    if (replayed > kMostLookedAt || count > many.most_at_once) break;
    std::optional<ReplayedLists> first = replay(count);
    const std::int64_t length = shortest_window(many, *first, count, executor);
    if (length == 0) continue;
    const std::int64_t least = count + (all - count) % length;
    const std::int64_t windows = (all - least) / length;
    if (least != count) {
      first.reset();  // so that no more than two are kept at once
      first = replay(least);
    }
    const ReplayedLists second = replay(least + length);
    const auto periods = Window(many, second, least + length).repeats(length);
    if (!periods || !goes_on(*first, second, length, *periods)) continue;
    SteadyProgram steady{first->of, second.of, first->timeline, second.timeline, windows, replayed};
    const PriceTable table(steady.first(), prices, executor);
    table.check_sum(static_cast<std::size_t>(steady.actions()));  // as of all of them
    if (busier_stay_busier(steady)) return steady;
  }
  return std::nullopt;
}

}  // namespace penstock
