// Leaves out the repetitions of a steady state that steady_window.cc has proved.
//
// After every round in which all ranks loop, the history is searched for a window that looks steady
// (a hash of what it holds, round_history.h); only then it is proved, since a proof costs about as
// much as the window's replay. A jump moves the clocks, the counters and the rows of arrivals as
// the rounds would have done; rows keep what was skipped as lines, since others may read them
// later. The constants here decide only how long is searched, never what comes out.
#include "simulator/jump.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/steady_window.h"

namespace penstock {
namespace {

constexpr std::int64_t kLongestWindow = 2048;  // rounds
constexpr std::int64_t kLeastRounds = 8;       // a shorter jump costs more than it saves
constexpr std::int64_t kLeastWindows = 4;      // likewise, of growing lines
constexpr int kMostFailures = 2;               // windows checked in vain at one look

struct SkippedRow {
  std::size_t row;
  Arrivals::Skipped part;
  std::int64_t more;  // places of the next window
};

// The last places that the rank wrote, one per step that writes, by row.
std::vector<std::pair<std::size_t, std::int64_t>> last_written(const RolledReplay& replay,
                                                               const RolledReplay::Rank& rank) {
  std::vector<std::pair<std::size_t, std::int64_t>> places;
  places.reserve(rank.block->end - rank.block->begin);
  for (std::uint32_t at = rank.block->begin; at < rank.block->end; ++at) {
    if (replay.steps[at].write < 0) continue;
    const auto row = static_cast<std::size_t>(replay.steps[at].write);
    const std::int64_t m = replay.next_of(rank, at) - rank.block->advance;
    places.emplace_back(row, replay.arrivals.place_of(row, m));
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::int64_t> slopes_of(const RolledReplay& replay, const SkippedRow& skipped,
                                    const SteadyWindow& window) {
  if (window.period) return {*window.period};
  const std::int64_t period = skipped.part.period;
  std::vector<std::int64_t> slopes(static_cast<std::size_t>(period));
  for (std::int64_t place = skipped.part.cut + 1; place <= skipped.part.cut + period; ++place) {
    slopes[static_cast<std::size_t>(place % period)] =
        replay.arrivals.get(skipped.row, place) - replay.arrivals.get(skipped.row, place - period);
  }
  return slopes;
}

// Adds what a jump leaves out of the rows that the rank writes. False when it does not write them
// place after place: then the window is no stretch of the row.
bool add_skipped(const RolledReplay& replay, const RolledReplay::Rank& rank,
                 const SteadyWindow& window, std::vector<SkippedRow>& skipped) {
  const std::int64_t advance = std::abs(std::int64_t{rank.block->advance});
  const std::int64_t windows = window.rounds / window.length;
  const auto places = last_written(replay, rank);
  for (std::size_t i = 0; i < places.size();) {
    std::size_t end = i + 1;
    while (end < places.size() && places[end].first == places[i].first) {
      if (places[end].second != places[end - 1].second + 1) return false;
      ++end;
    }
    if (static_cast<std::int64_t>(end - i) != advance) return false;
    const std::int64_t period = window.length * advance;
    skipped.push_back({places[i].first,
                       {places[end - 1].second - period, period, windows, {}},
                       window.rounds % window.length * advance});
    skipped.back().part.slopes = slopes_of(replay, skipped.back(), window);
    i = end;
  }
  return true;
}

// The rank's clock after window.rounds rounds: whole windows after a round of the last one.
std::int64_t clock_after(const RoundHistory& history, std::size_t rank,
                         const SteadyWindow& window) {
  const std::int64_t back = window.length - window.rounds % window.length;
  const std::int64_t clock = history.clock(rank, back);
  const std::int64_t growth =
      window.period ? *window.period : clock - history.clock(rank, back + window.length);
  return clock + (window.rounds / window.length + 1) * growth;
}

// To be called before the jump.
void note_jump(const RolledReplay& replay, const SteadyWindow& window, ReplayLog& log) {
  ReplayLog::Jump noted{window.rounds, window.length, window.period, {}, {}};
  for (std::size_t r = 0; r < replay.ranks.size(); ++r) {
    const RolledReplay::Rank& rank = replay.ranks[r];
    auto position = static_cast<std::int64_t>(log.ends[r].size());
    for (const ReplayLog::Jump& before : log.jumps) {
      position += before.rounds * before.steps_per_round[r];
    }
    noted.position.push_back(position);
    noted.steps_per_round.push_back(rank.done() ? 0 : rank.block->end - rank.block->begin);
  }
  log.jumps.push_back(std::move(noted));
}

bool jump(RolledReplay& replay, const RoundHistory& history, const SteadyWindow& window) {
  std::vector<SkippedRow> skipped;
  skipped.reserve(replay.arrivals.rows());
  for (const RolledReplay::Rank& rank : replay.ranks) {
    if (!rank.done() && !add_skipped(replay, rank, window, skipped)) return false;
  }
  if (replay.log != nullptr) note_jump(replay, window, *replay.log);
  for (SkippedRow& row : skipped) replay.arrivals.skip(row.row, std::move(row.part), row.more);
  const auto repetitions = static_cast<std::uint32_t>(window.rounds);
  for (std::size_t r = 0; r < replay.ranks.size(); ++r) {
    RolledReplay::Rank& rank = replay.ranks[r];
    if (rank.done()) continue;
    rank.now = clock_after(history, r, window);
    rank.waits = false;  // it will see
    rank.resolved = 0;
    rank.repetition += repetitions;
    rank.goal += repetitions;
    rank.shift += std::int64_t{repetitions} * rank.block->advance;
    replay.work.skipped += std::int64_t{repetitions} * (rank.block->end - rank.block->begin);
  }
  ++replay.work.jumps;
  return true;
}

bool all_loop(const RolledReplay& replay) {
  bool any = false;
  for (const RolledReplay::Rank& rank : replay.ranks) {
    if (rank.done()) continue;
    if (!rank.loops()) return false;
    any = true;
  }
  return any;
}

// The first window that looks steady and is, and goes on for long enough.
template <class Next, class See, class LongEnough>
std::optional<SteadyWindow> look(std::int64_t longest, Next next, See see, LongEnough long_enough) {
  std::int64_t length = 0;
  for (int failures = 0; failures < kMostFailures; ++failures) {
    length = next(length, longest);
    if (length > longest) break;
    SteadyWindow window = see(length);
    if (long_enough(window)) return window;
  }
  return std::nullopt;
}

}  // namespace

void JumpSearch::restart() {
  history_.clear();
  next_look_ = next_look_at_lines_ = 0;
}

void JumpSearch::after_round(RolledReplay& replay) {
  if (!all_loop(replay)) return restart();
  history_.add(replay);
  const std::int64_t rounds = history_.rounds();
  if (rounds < next_look_) return;
  next_look_ = rounds + 1 + rounds / 128;
  const Room room = room_of(replay);
  if (!room.alike || room.repetitions < kLeastRounds) return;
  auto window = look(
      std::min(rounds, kLongestWindow),
      [&](auto length, auto longest) { return history_.next_repeat(length, longest); },
      [&](auto length) { return repeating_state(replay, history_, length); },
      [](const auto& seen) { return seen.rounds >= kLeastRounds; });
  if (!window && rounds >= next_look_at_lines_) {
    window = look(
        std::min({rounds / 2, kLongestWindow, room.repetitions / kLeastWindows}),
        [&](auto length, auto longest) { return history_.next_growth(length, longest); },
        [&](auto length) {
          next_look_at_lines_ = rounds + 1 + rounds / 16;
          return growing_lines(replay, history_, length);
        },
        [](const auto& seen) {
          return seen.rounds > 0 && seen.rounds >= kLeastWindows * seen.length;
        });
  }
  if (window && jump(replay, history_, *window)) restart();
}

}  // namespace penstock
