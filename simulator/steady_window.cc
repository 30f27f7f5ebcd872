// Proves that a rolled replay is in a steady state, so that jump.cc may leave repetitions out.
//
// Both proofs look back over a window of `length` rounds; in a round every rank runs its block
// once.
// - repeating_state(): all clocks and all arrivals that are still to be read are those of one
//   window ago plus one and the same time (the period). A replay is a function of that state, of
//   maxima and sums only, and adding a constant to all its inputs adds it to all its outputs: so
//   the next window is this one plus the period, and so on, while lists and prices repeat.
// - growing_lines(): ranks that wait for nobody drift apart, so no common period exists, but each
//   time may still grow by a slope of its own. Along every step of the window the maximum of two
//   such lines is followed (max-plus linear): the winner must stay the winner. The first window in
//   which a faster growing loser would catch up bounds the jump.
//
// Whatever is claimed here is what the plain replay would do, to the nanosecond;
// tests/simulator/simulate_schedule_test.cc compares both on random schedules.
#include "simulator/steady_window.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace penstock {
namespace {

constexpr std::int64_t kMostScanned = 1024;  // stored arrivals looked at ahead of one read

// A time that grows by `slope` per window.
struct Line {
  std::int64_t value = 0, slope = 0;
};

// What the supposition says about the window, walked step by step on every rank, side by side with
// the window before it.
class GrowingLines {
 public:
  GrowingLines(const RolledReplay& replay, const RoundHistory& history, std::int64_t length)
      : replay_(replay),
        history_(history),
        length_(length),
        room_(room_of(replay).repetitions),
        windows_((room_ + length - 1) / length) {}

  SteadyWindow check() {
    for (std::size_t r = 0; r < replay_.ranks.size(); ++r) {
      if (!replay_.ranks[r].done() && !holds(r)) return {};
    }
    return {length_, std::min(room_, windows_ * length_), std::nullopt};
  }

 private:
  void limit(std::int64_t windows) { windows_ = std::min(windows_, windows); }

  bool holds(std::size_t r) {
    const RolledReplay::Rank& rank = replay_.ranks[r];
    step_ = length_ * rank.block->advance;
    Line now{history_.clock(r, length_), history_.growth(r, length_)};
    std::int64_t before = history_.clock(r, 2 * length_);
    std::uint32_t at = rank.at;
    std::int64_t shift = rank.shift - step_;
    const std::int64_t steps = length_ * (rank.block->end - rank.block->begin);
    for (std::int64_t i = 0; i < steps;) {
      before = replay_.end_of(at, shift - step_, before);
      now = end_of(at, shift, now);
      if (windows_ <= 0 || now.value - before != now.slope) return false;
      const std::uint32_t members = replay_.steps[at].pair ? 2 : 1;
      i += members;
      at += members;
      if (at < rank.block->end) continue;
      at = rank.block->begin;
      shift += rank.block->advance;
    }
    return true;
  }

  Line end_of(std::uint32_t at, std::int64_t shift, Line now) {
    const RolledReplay::Costs& own = costs_of(at, shift);
    std::int64_t duration = own.duration;
    if (replay_.steps[at].pair) {
      const RolledReplay::Costs& other = costs_of(at + 1, shift);
      now = after_read(now, at + 1, shift);
      now.value += other.lead;
      duration = own.together_with(other);
    }
    now = after_read(now, at, shift);
    now.value += duration;
    return now;
  }

  // Costs must not change on the way.
  const RolledReplay::Costs& costs_of(std::uint32_t at, std::int64_t shift) {
    const std::int64_t m = replay_.steps[at].micro_batch + shift;
    limit(replay_.alike_after(m, step_));
    return replay_.costs_of(at, m);
  }

  Line after_read(Line now, std::uint32_t at, std::int64_t shift) {
    const RolledReplay::Step& step = replay_.steps[at];
    if (step.read < 0) return now;
    return later(now, arrival(static_cast<std::size_t>(step.read), step.micro_batch + shift));
  }

  // The maximum of two lines, as long as it is one.
  Line later(Line a, Line b) {
    if (a.value == b.value) return a.slope > b.slope ? a : b;
    if (a.value < b.value) std::swap(a, b);
    if (b.slope > a.slope) limit((a.value - b.value) / (b.slope - a.slope));
    return a;
  }

  Line arrival(std::size_t row, std::int64_t m) {
    const std::int64_t place = replay_.arrivals.place_of(row, m);
    const std::int64_t step = step_ * replay_.arrivals.sign_of(row);
    const Arrivals::Skipped* part = replay_.arrivals.skipped(row, place);
    if (part == nullptr) return stored_arrival(row, place, step);
    if (step < 0 || step % part->period != 0) {
      limit(0);
      return {};
    }
    limit((part->last() + part->period - place) / step);
    return {replay_.arrivals.get(row, place), step / part->period * part->slope_of(place)};
  }

  // Ahead of the read some arrivals may be there already; they must lie on one line. Where none is,
  // the one that is read was written in this window, by a step whose own slope is checked.
  Line stored_arrival(std::size_t row, std::int64_t place, std::int64_t step) {
    const auto arrived = [&](std::int64_t at) {
      return at < 0 ? -1 : replay_.arrivals.get(row, at);
    };
    const std::int64_t value = arrived(place);
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
  const RoundHistory& history_;
  std::int64_t length_;
  std::int64_t step_ = 0;  // micro-batches per window, of the rank at hand
  std::int64_t room_;      // rounds
  std::int64_t windows_;
};

// What repeating_state() compares.
class RepeatingState {
 public:
  RepeatingState(const RolledReplay& replay, const RoundHistory& history, std::int64_t length)
      : replay_(replay),
        history_(history),
        length_(length),
        rounds_(room_of(replay).repetitions),
        unread_(replay.arrivals.rows(), kNone),
        written_(replay.arrivals.rows(), kNone) {}

  SteadyWindow check() {
    std::optional<std::int64_t> period;
    for (std::size_t r = 0; r < replay_.ranks.size(); ++r) {
      if (replay_.ranks[r].done()) continue;
      const std::int64_t growth = history_.growth(r, length_);
      if (period && *period != growth) return {};
      period = growth;
      if (!walk(replay_.ranks[r])) return {};
    }
    for (std::size_t b = 0; b < unread_.size(); ++b) {
      if (!arrivals_repeat(b, *period)) return {};
    }
    return {length_, rounds_, period};
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  // Notes what the rank reads next and wrote last. False when costs change within the window.
  bool walk(const RolledReplay::Rank& rank) {
    const std::int64_t advance = rank.block->advance;
    step_ = length_ * std::abs(advance);
    for (std::uint32_t at = rank.block->begin; at < rank.block->end; ++at) {
      const RolledReplay::Step& step = replay_.steps[at];
      const std::int64_t next = replay_.next_of(rank, at);
      const std::int64_t last = next - advance;
      const std::int64_t first = last - (length_ - 1) * advance;
      if (replay_.run_of(last) != replay_.run_of(first)) return false;
      rounds_ = std::min(rounds_, replay_.alike_after(last, advance));
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
    const std::int64_t place = replay_.arrivals.place_of(b, m);
    places[b] = places[b] == kNone ? place : choose(places[b], place);
  }

  // What waits at a boundary that is being read; what others will read later does not matter here.
  [[nodiscard]] bool arrivals_repeat(std::size_t b, std::int64_t period) const {
    if (unread_[b] == kNone) return true;
    if (written_[b] == kNone)
      return false;  // by a rank that does not write it now: not like before
    for (std::int64_t place = unread_[b]; place <= written_[b]; ++place) {
      const std::int64_t now = replay_.arrivals.get(b, place);
      if (now < 0) continue;  // a gap: places need not be written in order
      if (place < step_ || now - replay_.arrivals.get(b, place - step_) != period) return false;
    }
    return true;
  }

  const RolledReplay& replay_;
  const RoundHistory& history_;
  std::int64_t length_, rounds_;
  std::int64_t step_ = 0;  // micro-batches per window
  // Per boundary: the first place that is not read yet, the last that is written.
  std::vector<std::int64_t> unread_, written_;
};

}  // namespace

SteadyWindow repeating_state(const RolledReplay& replay, const RoundHistory& history,
                             std::int64_t length) {
  return RepeatingState(replay, history, length).check();
}

SteadyWindow growing_lines(const RolledReplay& replay, const RoundHistory& history,
                           std::int64_t length) {
  return GrowingLines(replay, history, length).check();
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
