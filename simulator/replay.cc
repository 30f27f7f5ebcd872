// Exactness rests on two facts. The stored order is one in which every action comes after all that
// it waits for, and compute of one rank stands in the order in which the rank runs it; so each
// start is a maximum of ends that are known already. And no transfer occupies anything, so none can
// delay another. Collectives are the exception: their time is known when the last member posts, and
// members that posted earlier are filled in then. Where a stored order does not allow that, run()
// says so and the worklist engine takes over.
//
// Program::more_waits is sorted by action, so one cursor goes through it beside the pass. Programs
// without such waits, which are most, have a pass of their own that does not ask.
#include "simulator/replay.h"

#include <algorithm>

#include "core/values/error.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr SimTime kZero{};
constexpr SimTime kUnknown{Duration{-1}};

// The compute stream, the copy lanes and the activity of every rank.
struct RankClocks {
  std::vector<SimTime> now, first, last, in, out;
  std::vector<Duration> busy;
  bool one_lane;  // for copies of both directions
  RankClocks(std::size_t ranks, HostLink link)
      : now(ranks, kZero),
        first(ranks, SimTime::max()),
        last(ranks, kZero),
        in(ranks, kZero),
        out(ranks, kZero),
        busy(ranks),
        one_lane(link == HostLink::kSimplex) {}

  // When a copy begins that is ready at `ready`.
  SimTime copy(ActionKind kind, std::size_t rank, SimTime ready, Duration duration) {
    SimTime& lane = kind == ActionKind::kLoad || one_lane ? in[rank] : out[rank];
    const SimTime begin = std::max(ready, lane);
    lane = begin + duration;
    last[rank] = std::max(last[rank], lane);
    return begin;
  }
};

// Goes through Program::more_waits beside the pass over the actions.
class MoreWaits {
 public:
  MoreWaits(const Program& program, std::uint32_t from) : waits_(program.more_waits) {
    while (at_ < waits_.size() && waits_[at_].action < from) ++at_;
    note_next();
  }
  [[nodiscard]] bool has(std::uint32_t action) const { return action == next_; }
  // Of the action that has(): what it must wait for at least. False when an end is not known yet.
  [[nodiscard]] bool take(const std::vector<SimTime>& end, SimTime& begin) {
    bool known = true;
    for (const std::uint32_t action = next_; next_ == action; note_next()) {
      const SimTime needed = end[waits_[at_++].needs];
      known = known && needed != kUnknown;
      begin = std::max(begin, needed);
    }
    return known;
  }

 private:
  void note_next() { next_ = at_ < waits_.size() ? waits_[at_].action : kWaitsForNothing; }

  const std::vector<Wait>& waits_;
  std::size_t at_ = 0;
  std::uint32_t next_ = kWaitsForNothing;
};

struct NoMoreWaits {
  static constexpr bool has(std::uint32_t) { return false; }
  static constexpr bool take(const std::vector<SimTime>&, SimTime&) { return true; }
};

// A collective ends for all its members when the last one has posted. Members are collected per
// (group, kind), since a group may perform several kinds in one step.
class Collectives {
 public:
  Collectives(const Program& program, const PriceTable& prices)
      : program_(program),
        prices_(prices),
        pending_(program.groups.size() * static_cast<std::size_t>(kActionKinds)),
        last_on_rank_(static_cast<std::size_t>(program.ranks()), kWaitsForNothing) {}

  // Posts action `index`; writes all members' times once it is complete. False when one of them
  // follows a collective that is not.
  template <class Starts>
  [[nodiscard]] bool post(std::uint32_t index, Starts& start, std::vector<SimTime>& end,
                          RankClocks& ranks) {
    const Action& action = program_.actions[index];
    auto& members = pending_[action.group.value * static_cast<std::size_t>(kActionKinds) +
                             static_cast<std::size_t>(action.kind)];
    auto& last = last_on_rank_[rank_of(action)];
    // Two stages of one rank may belong to one group: then the first of them says what came before.
    members.push_back({index, same_collective(last, action) ? kWaitsForNothing : last});
    last = index;
    end[index] = kUnknown;
    if (members.size() < program_.groups[action.group.value].members) return true;
    SimTime begin = kZero;
    for (const auto& [member, previous] : members) {
      bool known = true;
      const auto follow = [&](std::uint32_t before) {
        known = known && end[before] != kUnknown;
        begin = std::max(begin, end[before]);
      };
      for_each_wait(program_, member, follow);
      if (previous != kWaitsForNothing) follow(previous);
      if (!known) return false;
    }
    // The first member's price stands for all, as in the general engine.
    const Action& first = program_.actions[members.front().index];
    const SimTime finish = begin + prices_.of_collective(first);
    for (const auto& [member, previous] : members) {
      start.set(member, begin);
      end[member] = finish;
      auto& rank_last = ranks.last[rank_of(program_.actions[member])];
      rank_last = std::max(rank_last, finish);
    }
    members.clear();
    return true;
  }
  [[nodiscard]] bool all_complete() const {
    return std::all_of(pending_.begin(), pending_.end(), [](const auto& p) { return p.empty(); });
  }

 private:
  struct Member {
    std::uint32_t index, previous;  // previous: the collective before it on its rank
  };

  [[nodiscard]] std::size_t rank_of(const Action& action) const {
    return static_cast<std::size_t>(program_.rank_of(action).value);
  }
  [[nodiscard]] bool same_collective(std::uint32_t index, const Action& action) const {
    if (index == kWaitsForNothing) return false;
    const Action& other = program_.actions[index];
    return other.group == action.group && other.kind == action.kind;
  }

  const Program& program_;
  const PriceTable& prices_;
  std::vector<std::vector<Member>> pending_;
  std::vector<std::uint32_t> last_on_rank_;
};

struct StoreStarts {
  std::vector<SimTime>& values;
  void set(std::size_t i, SimTime time) { values[i] = time; }
};
struct ForgetStarts {
  void set(std::size_t, SimTime) {}
};

// The pass itself: per action two loads, one maximum and one store besides the action. False when
// stored order is not an order in which collectives complete before what follows them; lowering
// always makes one.
template <class Starts, class Waits>
[[nodiscard]] bool pass(const Program& program, const PriceTable& prices, Starts start, Waits more,
                        std::vector<SimTime>& end, RankClocks& ranks, std::uint32_t from) {
  std::vector<std::uint32_t> rank_of_stage;
  for (const Stage& stage : program.stages) {
    rank_of_stage.push_back(static_cast<std::uint32_t>(stage.rank.value));
  }
  Collectives collectives(program, prices);
  const auto count = static_cast<std::uint32_t>(program.actions.size());
  for (std::uint32_t i = from; i < count; ++i) {
    const Action& action = program.actions[i];
    if (is_collective(action.kind)) [[unlikely]] {
      SimTime later = kZero;  // looked up when all have posted
      if (more.has(i)) (void)more.take(end, later);
      if (!collectives.post(i, start, end, ranks)) return false;
      continue;
    }
    SimTime begin = action.waits_for == kWaitsForNothing ? kZero : end[action.waits_for];
    if (begin == kUnknown) [[unlikely]]
      return false;
    if (more.has(i) && !more.take(end, begin)) return false;
    Duration duration = is_receive(action.kind) ? Duration{} : prices.of(action);
    if (action.overlaps_next) [[unlikely]] {
      const Action& second = program.actions[i + 1];
      if (second.waits_for != kWaitsForNothing) begin = std::max(begin, end[second.waits_for]);
      if (more.has(i + 1) && !more.take(end, begin)) return false;
      duration = prices.of_overlap(action, second);
    }
    if (is_compute(action.kind)) {
      const std::uint32_t rank = rank_of_stage[action.stage.value];
      begin = std::max(begin, ranks.now[rank]);
      ranks.first[rank] = std::min(ranks.first[rank], begin);
      ranks.now[rank] = begin + duration;
      ranks.busy[rank] += duration;
    } else if (is_copy(action.kind)) [[unlikely]] {
      begin = ranks.copy(action.kind, rank_of_stage[action.stage.value], begin, duration);
    }
    start.set(i, begin);
    end[i] = begin + duration;
    if (action.overlaps_next) [[unlikely]] {
      ++i;
      start.set(i, begin);
      end[i] = begin + duration;
    }
  }
  return collectives.all_complete();
}

template <class Starts>
[[nodiscard]] bool run(const Program& program, const PriceTable& prices, Starts start,
                       std::vector<SimTime>& end, RankClocks& ranks, std::uint32_t from = 0) {
  if (program.more_waits.empty()) {
    return pass(program, prices, start, NoMoreWaits{}, end, ranks, from);
  }
  return pass(program, prices, start, MoreWaits(program, from), end, ranks, from);
}

// A rank that only sent last has ended with what it computed before.
void leave_out_sends(const Program& program, const std::vector<SimTime>& known, RankClocks& ranks) {
  std::vector<SimTime> computed(ranks.now.size(), kZero);
  std::vector<bool> goes_on(ranks.now.size(), false);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    if (!is_compute(action.kind)) continue;
    goes_on[rank] = goes_on[rank] || i >= known.size();
    if (i < known.size()) computed[rank] = std::max(computed[rank], known[i]);
  }
  for (std::size_t r = 0; r < computed.size(); ++r) {
    if (!goes_on[r]) ranks.now[r] = computed[r];
  }
}

TimelineSummary summary_of(RankClocks ranks) {
  for (std::size_t r = 0; r < ranks.now.size(); ++r) {
    ranks.last[r] = std::max(ranks.last[r], ranks.now[r]);
  }
  return summarize_ranks(ranks.first, ranks.last, std::move(ranks.busy));
}

}  // namespace

bool straight_replay_is_exact(const ExecutorModel& executor) {
  return executor.transfer == TransferMode::kAsync && executor.queues == QueueLayout::kNone &&
         !executor.receive_must_be_posted;
}

bool transfers_occupy_senders_at_most(const ExecutorModel& executor) {
  const bool blocks = executor.transfer == TransferMode::kSenderBlocks &&
                      executor.queues == QueueLayout::kNone && !executor.receive_must_be_posted;
  return blocks || straight_replay_is_exact(executor);
}

Timeline replay(const Program& program, const StagePrices& prices, const ExecutorModel& executor) {
  const PriceTable table(program, prices, executor);
  RankClocks ranks(static_cast<std::size_t>(program.ranks()), executor.host_link);
  Timeline timeline;
  timeline.start.resize(program.actions.size());
  timeline.end.resize(program.actions.size());
  if (!run(program, table, StoreStarts{timeline.start}, timeline.end, ranks)) {
    return simulate_by_worklist(program, prices, executor);  // or it says who waits for whom
  }
  for (const SimTime end : timeline.end) timeline.step_end = std::max(timeline.step_end, end);
  timeline.step_end += executor.per_step;
  return timeline;
}

TimelineSummary replay_summary(const Program& program, const StagePrices& prices,
                               const ExecutorModel& executor) {
  const PriceTable table(program, prices, executor);
  RankClocks ranks(static_cast<std::size_t>(program.ranks()), executor.host_link);
  std::vector<SimTime> end(program.actions.size());
  if (!run(program, table, ForgetStarts{}, end, ranks)) {
    return summarize(program, simulate_by_worklist(program, prices, executor));
  }
  return summary_of(std::move(ranks));
}

TimelineSummary replay_rest(const Program& program, const PriceTable& prices, HostLink link,
                            RunSoFar so_far, Timeline* timeline) {
  RankClocks ranks(static_cast<std::size_t>(program.ranks()), link);
  ranks.first = std::move(so_far.first);
  ranks.busy = std::move(so_far.busy);
  for (std::size_t i = 0; i < so_far.known.size(); ++i) {
    auto& now = ranks.now[static_cast<std::size_t>(program.rank_of(program.actions[i]).value)];
    now = std::max(now, so_far.known[i]);
  }
  const auto from = static_cast<std::uint32_t>(so_far.known.size());
  std::vector<SimTime> end = so_far.known;
  end.resize(program.actions.size());
  bool complete = false;
  if (timeline == nullptr) {
    complete = run(program, prices, ForgetStarts{}, end, ranks, from);
  } else {
    timeline->start.resize(program.actions.size());
    complete = run(program, prices, StoreStarts{timeline->start}, end, ranks, from);
    timeline->end = std::move(end);
  }
  if (!complete) {
    throw Error(ErrorKind::kInternal, program.schedule + ": the end of the step cannot complete");
  }
  leave_out_sends(program, so_far.known, ranks);
  return summary_of(std::move(ranks));
}

}  // namespace penstock
