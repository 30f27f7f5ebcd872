#include "simulator/steady_window.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock {
namespace {

constexpr std::int64_t kMostScanned = 1024;  // stored arrivals looked at ahead of one read

// A time that grows by `slope` per window.
struct Line {
  std::int64_t value = 0, slope = 0;
};

// What the supposition says about the window, walked step by step on every rank.
class GrowingLines {
 public:
  GrowingLines(const RolledReplay& replay, std::int64_t rounds)
      : replay_(replay),
        rounds_(rounds),
        windows_(room_of(replay).repetitions / rounds),
        busy_(replay.ranks.size(), 0) {}

  SteadyWindow check() {
    for (std::size_t r = 0; r < replay_.ranks.size(); ++r) {
      const RolledReplay::Rank& rank = replay_.ranks[r];
      if (!rank.done() && !holds(rank, busy_[r])) return {};
    }
    return {rounds_, windows_, std::move(busy_), std::nullopt};
  }

 private:
  void limit(std::int64_t windows) { windows_ = std::min(windows_, windows); }

  bool holds(const RolledReplay::Rank& rank, std::int64_t& busy) {
    const std::size_t length = std::size_t{rank.size()} * static_cast<std::size_t>(rounds_);
    const std::size_t begin = rank.ends.size() - length;
    step_ = rounds_ * rank.block->advance;
    Line now{rank.ends[begin - 1], rank.ends.back() - rank.ends[begin - 1]};
    std::uint32_t at = rank.at;
    std::int64_t shift = rank.shift - step_;
    for (std::size_t i = begin; i < rank.ends.size();) {
      const std::uint32_t members = replay_.steps[at].pair ? 2 : 1;
      now = end_of(at, shift, now, busy);
      if (windows_ <= 0) return false;
      const Line seen{rank.ends[i], rank.ends[i] - rank.ends[i - length]};
      if (now.value != seen.value || now.slope != seen.slope) return false;
      i += members;
      at += members;
      if (at < rank.block->end) continue;
      at = rank.block->begin;
      shift += rank.block->advance;
    }
    return true;
  }

  Line end_of(std::uint32_t at, std::int64_t shift, Line now, std::int64_t& busy) {
    const RolledReplay::Step& step = replay_.steps[at];
    const std::int64_t m = step.micro_batch + shift;
    const RolledReplay::Costs& own = costs_of(at, m);
    std::int64_t duration = own.duration;
    if (step.pair) {
      const std::int64_t other_m = replay_.steps[at + 1].micro_batch + shift;
      const RolledReplay::Costs& other = costs_of(at + 1, other_m);
      now = after_read(now, replay_.steps[at + 1], other_m);
      now.value += other.lead;
      busy += other.lead;
      duration = own.together_with(other);
    }
    now = after_read(now, step, m);
    now.value += duration;
    busy += duration;
    return now;
  }

  // Costs must not change on the way.
  const RolledReplay::Costs& costs_of(std::uint32_t at, std::int64_t m) {
    const std::size_t run = replay_.run_of(m);
    const std::int64_t first = run == 0 ? 0 : replay_.run_end[run - 1];
    const std::int64_t room = step_ > 0 ? replay_.run_end[run] - 1 - m : m - first;
    limit(room / std::abs(step_));
    return replay_.costs_of(at, m);
  }

  Line after_read(Line now, const RolledReplay::Step& step, std::int64_t m) {
    if (step.read < 0) return now;
    return later(now, arrival(static_cast<std::size_t>(step.read), m));
  }

  // The maximum of two lines, as long as it is one.
  Line later(Line a, Line b) {
    if (a.value == b.value) return a.slope > b.slope ? a : b;
    if (a.value < b.value) std::swap(a, b);
    if (b.slope > a.slope) limit((a.value - b.value) / (b.slope - a.slope));
    return a;
  }

  Line arrival(std::size_t index, std::int64_t m) {
    const RolledReplay::Boundary& boundary = replay_.boundaries[index];
    const std::int64_t place = boundary.place_of(m), step = step_ * boundary.sign;
    const std::int64_t value = boundary.get(place);
    for (const Arrivals::Skipped& part : boundary.skipped()) {
      const std::int64_t behind = part.periods_behind(place);
      if (behind < 1 || behind > part.count) continue;
      if (step < 0 || step % part.period != 0) {
        limit(0);
        return {};
      }
      const std::int64_t parts = step / part.period;
      limit((part.count - behind) / parts);
      return {value, parts * part.slope_of(place)};
    }
    return stored_arrival(boundary, place, step, value);
  }

  // Ahead of the read some arrivals may be there already; they must lie on one line. Where none is,
  // the one that is read was written in this window, by a step whose own slope is checked.
  Line stored_arrival(const RolledReplay::Boundary& boundary, std::int64_t place, std::int64_t step,
                      std::int64_t value) {
    const auto arrived = [&](std::int64_t at) { return at < 0 ? -1 : boundary.get(at); };
    std::int64_t slope = value - arrived(place - step);
    std::int64_t here = value;
    for (std::int64_t ahead = 1; ahead <= kMostScanned; ++ahead) {
      const std::int64_t next = arrived(place + ahead * step);
      if (next < 0) return {value, slope};
      if (ahead == 1) slope = next - here;
      if (next - here != slope) {
        limit(ahead - 1);
        return {value, slope};
      }
      here = next;
    }
    limit(kMostScanned);
    return {value, slope};
  }

  const RolledReplay& replay_;
  std::int64_t rounds_;    // L
  std::int64_t step_ = 0;  // micro-batches per window, of the rank at hand
  std::int64_t windows_;
  std::vector<std::int64_t> busy_;  // per rank and window
};

// What repeating_state() compares and sums up.
class RepeatingState {
 public:
  RepeatingState(const RolledReplay& replay, std::int64_t rounds)
      : replay_(replay),
        rounds_(rounds),
        windows_(room_of(replay).repetitions / rounds),
        unread_(replay.boundaries.size(), kNone),
        written_(replay.boundaries.size(), kNone) {}

  SteadyWindow check() {
    std::optional<std::int64_t> period;
    for (const RolledReplay::Rank& rank : replay_.ranks) {
      if (rank.done()) continue;
      const std::int64_t growth = clock_of(rank, 0) - clock_of(rank, rounds_);
      if (period && *period != growth) return {};
      period = growth;
      if (!walk(rank)) return {};
    }
    for (std::size_t b = 0; b < unread_.size(); ++b) {
      if (!arrivals_repeat(b, *period)) return {};
    }
    std::vector<std::int64_t> busy;
    for (const RolledReplay::Rank& rank : replay_.ranks) {
      busy.push_back(rank.done() ? 0 : rounds_ * busy_of_repetition(rank));
    }
    return {rounds_, windows_, std::move(busy), period};
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  // Notes what the rank reads next and wrote last. False when costs change within the window.
  bool walk(const RolledReplay::Rank& rank) {
    const std::int64_t advance = rank.block->advance;
    step_ = rounds_ * std::abs(advance);
    for (std::uint32_t at = rank.block->begin; at < rank.block->end; ++at) {
      const RolledReplay::Step& step = replay_.steps[at];
      // Of the current repetition the steps before rank.at have run.
      const std::int64_t next = step.micro_batch + rank.shift + (at < rank.at ? advance : 0);
      const std::int64_t last = next - advance;
      const std::int64_t first = last - (rounds_ - 1) * advance;
      const std::size_t run = replay_.run_of(last);
      if (run != replay_.run_of(first)) return false;
      const std::int64_t begin = run == 0 ? 0 : replay_.run_end[run - 1];
      const std::int64_t room = advance > 0 ? replay_.run_end[run] - 1 - last : last - begin;
      windows_ = std::min(windows_, room / step_);
      note(step.read, next, unread_, [](auto a, auto b) { return std::min(a, b); });
      note(step.write, last, written_, [](auto a, auto b) { return std::max(a, b); });
    }
    return true;
  }
  template <class Choose>
  void note(std::int32_t boundary, std::int64_t m, std::vector<std::int64_t>& places,
            Choose choose) {
    if (boundary < 0) return;
    const auto b = static_cast<std::size_t>(boundary);
    const std::int64_t place = replay_.boundaries[b].place_of(m);
    places[b] = places[b] == kNone ? place : choose(places[b], place);
  }

  // What waits at a boundary that is being read; what others will read later does not matter here.
  [[nodiscard]] bool arrivals_repeat(std::size_t b, std::int64_t period) const {
    if (unread_[b] == kNone) return true;
    if (written_[b] == kNone)
      return false;  // by a rank that does not write it now: not like before
    const RolledReplay::Boundary& boundary = replay_.boundaries[b];
    for (std::int64_t place = unread_[b]; place <= written_[b]; ++place) {
      const std::int64_t now = boundary.get(place);
      if (now < 0) continue;  // a gap: places need not be written in order
      if (place < step_ || now - boundary.get(place - step_) != period) return false;
    }
    return true;
  }

  [[nodiscard]] std::int64_t busy_of_repetition(const RolledReplay::Rank& rank) const {
    std::int64_t busy = 0;
    for (std::uint32_t at = rank.block->begin; at < rank.block->end; ++at) {
      const RolledReplay::Costs& own = costs_of(rank, at);
      if (!replay_.steps[at].pair) {
        busy += own.duration;
        continue;
      }
      const RolledReplay::Costs& second = costs_of(rank, ++at);
      busy += second.lead + own.together_with(second);
    }
    return busy;
  }
  [[nodiscard]] const RolledReplay::Costs& costs_of(const RolledReplay::Rank& rank,
                                                    std::uint32_t at) const {
    return replay_.costs_of(at, replay_.steps[at].micro_batch + rank.shift - rank.block->advance);
  }

  const RolledReplay& replay_;
  std::int64_t rounds_, windows_;
  std::int64_t step_ = 0;  // micro-batches per window
  // Per boundary: the first place that is not read yet, the last that is written.
  std::vector<std::int64_t> unread_, written_;
};

}  // namespace

SteadyWindow repeating_state(const RolledReplay& replay, std::int64_t rounds) {
  return RepeatingState(replay, rounds).check();
}

SteadyWindow growing_lines(const RolledReplay& replay, std::int64_t rounds) {
  return GrowingLines(replay, rounds).check();
}

Room room_of(const RolledReplay& replay) {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  Room room{true, kUnlimited};
  std::int64_t advance = 0;
  for (const RolledReplay::Rank& rank : replay.ranks) {
    if (rank.done()) continue;
    const std::int64_t own = std::abs(std::int64_t{rank.block->advance});
    if (advance == 0) advance = own;
    room.alike = room.alike && own == advance && own > 0;
    room.repetitions =
        std::min(room.repetitions, std::int64_t{rank.block->repeat} - 2 - rank.repetition);
  }
  return room;
}

}  // namespace penstock
