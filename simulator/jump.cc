#include "simulator/jump.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "simulator/rolled_replay.h"

namespace penstock {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongestWindow = 2048;  // rounds
constexpr std::int64_t kLeastWindows = 4;      // a shorter jump costs more than it saves
constexpr int kMostFailures = 2;               // windows checked in vain at one look
constexpr std::int64_t kMostScanned = 1024;    // stored arrivals looked at ahead of one read

// A time that grows by `slope` per window.
struct Line {
  std::int64_t value = 0, slope = 0;
};

// What the supposition says about one window, walked step by step on every rank.
class WindowCheck {
 public:
  WindowCheck(const RolledReplay& replay, std::int64_t rounds)
      : replay_(replay), rounds_(rounds), busy_(replay.ranks.size(), 0) {}

  // For how many more windows the supposition holds; 0 when it does not.
  std::int64_t windows() {
    for (std::size_t r = 0; r < replay_.ranks.size(); ++r) {
      const RolledReplay::Rank& rank = replay_.ranks[r];
      if (rank.done()) continue;
      // The last repetition but one is left to the plain replay.
      limit((std::int64_t{rank.block->repeat} - 2 - rank.repetition) / rounds_);
      if (windows_ < kLeastWindows || !holds(rank, busy_[r])) return 0;
    }
    return windows_;
  }
  [[nodiscard]] std::int64_t busy(std::size_t rank) const { return busy_[rank]; }

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
      if (windows_ < kLeastWindows) return false;
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
      return {value, parts * (value - boundary.get(place - part.period))};
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
  std::int64_t windows_ = kUnlimited;
  std::vector<std::int64_t> busy_;  // per rank and window
};

// End of a rank's `back`-th last round.
std::int64_t clock(const RolledReplay::Rank& rank, std::int64_t back) {
  return rank.ends[rank.ends.size() - 1 - static_cast<std::size_t>(back) * rank.size()];
}

// Whether the ends of the rank's rounds look as if they grew by a constant every `rounds`.
bool may_repeat(const RolledReplay::Rank& rank, std::int64_t rounds) {
  const std::int64_t growth = clock(rank, 0) - clock(rank, rounds);
  return growth == clock(rank, 1) - clock(rank, rounds + 1) &&
         growth == clock(rank, rounds) - clock(rank, 2 * rounds);
}

// The arrivals that a jump leaves out: what follows, per boundary, the last that its rank wrote.
void note_skipped(RolledReplay& replay, const RolledReplay::Rank& rank, std::int64_t rounds,
                  std::int64_t windows) {
  const std::int64_t step = rounds * std::abs(std::int64_t{rank.block->advance});
  std::vector<std::pair<std::size_t, Arrivals::Skipped>> skipped;  // by boundary
  for (std::uint32_t at = rank.block->begin; at < rank.block->end; ++at) {
    const RolledReplay::Step& writer = replay.steps[at];
    if (writer.write < 0) continue;
    const auto index = static_cast<std::size_t>(writer.write);
    const RolledReplay::Boundary& boundary = replay.boundaries[index];
    auto entry = std::find_if(skipped.begin(), skipped.end(),
                              [&](const auto& known) { return known.first == index; });
    if (entry == skipped.end()) {
      skipped.emplace_back(index, Arrivals::Skipped{step, windows, {}});
      entry = skipped.end() - 1;
      entry->second.latest.assign(static_cast<std::size_t>(step), Arrivals::Skipped::kNever);
    }
    // Of the current repetition the steps before rank.at have run.
    const std::int64_t last = rank.shift - (at < rank.at ? 0 : rank.block->advance);
    for (std::int64_t back = 0; back < rounds; ++back) {
      const std::int64_t m = writer.micro_batch + last - back * rank.block->advance;
      const std::int64_t place = boundary.place_of(m);
      entry->second.latest[static_cast<std::size_t>(place % step)] = place;
    }
  }
  for (auto& [index, part] : skipped) replay.boundaries[index].skip(std::move(part));
}

void jump(RolledReplay& replay, const WindowCheck& check, std::int64_t rounds,
          std::int64_t windows) {
  for (std::size_t r = 0; r < replay.ranks.size(); ++r) {
    RolledReplay::Rank& rank = replay.ranks[r];
    if (rank.done()) continue;
    note_skipped(replay, rank, rounds, windows);
    rank.now += windows * (clock(rank, 0) - clock(rank, rounds));
    rank.busy += windows * check.busy(r);
    rank.actions += windows * rounds * rank.size();
    rank.goal += windows * rounds * rank.size();
    rank.waits_for_place += windows * rounds * std::abs(std::int64_t{rank.block->advance});
    rank.repetition += static_cast<std::uint32_t>(windows * rounds);
    rank.shift += windows * rounds * rank.block->advance;
    rank.ends.assign(1, rank.now);
  }
}

// Whether all ranks that are left advance by equally many micro-batches per repetition; and how
// many repetitions every one of them has left.
struct Room {
  bool alike = true;
  std::int64_t repetitions = kUnlimited;
};
Room room_of(const RolledReplay& replay) {
  Room room;
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

bool all_may_repeat(const RolledReplay& replay, std::int64_t rounds) {
  return std::all_of(replay.ranks.begin(), replay.ranks.end(),
                     [&](const auto& rank) { return rank.done() || may_repeat(rank, rounds); });
}

bool all_loop(const RolledReplay& replay) {
  return std::all_of(replay.ranks.begin(), replay.ranks.end(),
                     [](const auto& rank) { return rank.done() || rank.loops; });
}

}  // namespace

void JumpSearch::after_round(RolledReplay& replay) {
  if (!all_loop(replay)) {
    streak_ = next_look_ = 0;
    return;
  }
  if (++streak_ < next_look_ || streak_ < 3) return;
  next_look_ = streak_ + 1 + streak_ / 16;
  const Room room = room_of(replay);
  if (!room.alike) return;
  const std::int64_t longest =
      std::min({(streak_ - 1) / 2, kLongestWindow, room.repetitions / kLeastWindows});
  int failures = 0;
  for (std::int64_t rounds = 1; rounds <= longest && failures < kMostFailures; ++rounds) {
    if (!all_may_repeat(replay, rounds)) continue;
    WindowCheck check(replay, rounds);
    const std::int64_t windows = check.windows();
    if (windows >= kLeastWindows) {
      jump(replay, check, rounds, windows);
      streak_ = next_look_ = 0;
      return;
    }
    ++failures;
  }
}

}  // namespace penstock
