#include "simulator/jump.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/rolled_replay.h"
#include "simulator/steady_window.h"

namespace penstock {
namespace {

constexpr std::int64_t kLongestWindow = 2048;  // rounds
constexpr std::int64_t kLeastWindows = 4;      // a shorter jump costs more than it saves
constexpr int kMostFailures = 2;               // windows checked in vain at one look

// Whether the ends of every rank's rounds look as if they grew by a constant every `rounds`.
bool may_grow(const RolledReplay::Rank& rank, std::int64_t rounds) {
  const std::int64_t growth = clock_of(rank, 0) - clock_of(rank, rounds);
  return growth == clock_of(rank, 1) - clock_of(rank, rounds + 1) &&
         growth == clock_of(rank, rounds) - clock_of(rank, 2 * rounds);
}
bool all_may_grow(const RolledReplay& replay, std::int64_t rounds) {
  return std::all_of(replay.ranks.begin(), replay.ranks.end(),
                     [&](const auto& rank) { return rank.done() || may_grow(rank, rounds); });
}

// Whether all of them are later by one time than `rounds` rounds ago.
bool all_as_before(const RolledReplay& replay, std::int64_t rounds) {
  const RolledReplay::Rank* first = nullptr;
  for (const RolledReplay::Rank& rank : replay.ranks) {
    if (rank.done()) continue;
    if (first == nullptr) first = &rank;
    if (clock_of(rank, 0) - clock_of(rank, rounds) !=
        clock_of(*first, 0) - clock_of(*first, rounds)) {
      return false;
    }
  }
  return first != nullptr;
}

// The arrivals that a jump leaves out: what follows, per boundary, the last that its rank wrote.
void note_skipped(RolledReplay& replay, const RolledReplay::Rank& rank,
                  const SteadyWindow& window) {
  const std::int64_t rounds = window.rounds;
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
      skipped.emplace_back(index, Arrivals::Skipped{step, window.windows, {}, {}});
      entry = skipped.end() - 1;
      entry->second.latest.assign(static_cast<std::size_t>(step), Arrivals::Skipped::kNever);
      entry->second.slope.assign(static_cast<std::size_t>(step), 0);
    }
    // Of the current repetition the steps before rank.at have run.
    const std::int64_t last = rank.shift - (at < rank.at ? 0 : rank.block->advance);
    for (std::int64_t back = 0; back < rounds; ++back) {
      const std::int64_t m = writer.micro_batch + last - back * rank.block->advance;
      const std::int64_t place = boundary.place_of(m);
      const auto residue = static_cast<std::size_t>(place % step);
      entry->second.latest[residue] = place;
      entry->second.slope[residue] =
          window.period ? *window.period : boundary.get(place) - boundary.get(place - step);
    }
  }
  for (auto& [index, part] : skipped) replay.boundaries[index].skip(std::move(part));
}

void jump(RolledReplay& replay, const SteadyWindow& window) {
  const std::int64_t repetitions = window.windows * window.rounds;
  for (std::size_t r = 0; r < replay.ranks.size(); ++r) {
    RolledReplay::Rank& rank = replay.ranks[r];
    if (rank.done()) continue;
    note_skipped(replay, rank, window);
    rank.now += window.windows * (clock_of(rank, 0) - clock_of(rank, window.rounds));
    rank.busy += window.windows * window.busy[r];
    rank.actions += repetitions * rank.size();
    rank.goal += repetitions * rank.size();
    rank.waits_for_place += repetitions * std::abs(std::int64_t{rank.block->advance});
    rank.repetition += static_cast<std::uint32_t>(repetitions);
    rank.shift += repetitions * rank.block->advance;
    rank.ends.assign(1, rank.now);
  }
}

bool all_loop(const RolledReplay& replay) {
  return std::all_of(replay.ranks.begin(), replay.ranks.end(),
                     [](const auto& rank) { return rank.done() || rank.loops; });
}

// The first of the given windows that passes a test and is seen to be steady.
template <class Test, class See>
std::optional<SteadyWindow> look(const RolledReplay& replay, std::int64_t longest, Test may_be,
                                 See see) {
  int failures = 0;
  for (std::int64_t rounds = 1; rounds <= longest && failures < kMostFailures; ++rounds) {
    if (!may_be(replay, rounds)) continue;
    SteadyWindow window = see(replay, rounds);
    if (window.windows >= kLeastWindows) return window;
    ++failures;
  }
  return std::nullopt;
}

}  // namespace

void JumpSearch::after_round(RolledReplay& replay) {
  if (!all_loop(replay)) {
    streak_ = next_look_ = 0;
    return;
  }
  if (++streak_ < next_look_ || streak_ < 2) return;
  next_look_ = streak_ + 1 + streak_ / 16;
  const Room room = room_of(replay);
  if (!room.alike) return;
  const std::int64_t longest = std::min(kLongestWindow, room.repetitions / kLeastWindows);
  auto window = look(replay, std::min(streak_ - 1, longest), all_as_before, repeating_state);
  if (!window) {
    window = look(replay, std::min((streak_ - 1) / 2, longest), all_may_grow, growing_lines);
  }
  if (!window) return;
  jump(replay, *window);
  streak_ = next_look_ = 0;
}

}  // namespace penstock
