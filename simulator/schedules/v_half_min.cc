// After "Pipeline Parallelism with Controllable Memory" (arXiv 2405.15362): every rank repeats a
// pattern of six slots, F, F, I, I, W, W of its two stages, whose offsets are the building block
// (v_pattern). Squeezed together (VSqueeze), the lists become periodic, so only as many micro-
// batches are made as it takes until a whole period repeats; the rest is one block that is
// repeated. That these numbers suffice was observed for every P up to 128, and tests compare with
// lists that were made in full.
#include "simulator/schedules/v_half_min.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// From here on one micro-batch more adds one repetition of the steady state on every rank, and
// changes nothing else: observed for every P up to 128, with one to spare (a test compares with
// lists made in full).
int enough_for_half(int ranks) { return ranks + 3; }
int enough_for_min(int ranks) { return 2 * (ranks + 1) / 3 + 4; }

// From here on the longest repetition of a list is that of the steady state.
int enough_to_roll_up(VMemory memory, int ranks) {
  return memory == VMemory::kHalf ? 4 * ranks / 3 + 4 : ranks + 4;
}

bool is_next(const ComputeAction& action, const ComputeAction& before) {
  return action.kind == before.kind && action.stage == before.stage &&
         action.micro_batch.value == before.micro_batch.value + 1;
}

// The longest stretch in which every action is that of a period before, a micro-batch further.
struct Steady {
  std::size_t begin = 0, periods = 1;
};
Steady steady_of(const std::vector<ComputeAction>& list) {
  Steady steady;
  std::size_t longest = 0, run = 0;
  for (std::size_t i = kPeriod; i < list.size(); ++i) {
    run = is_next(list[i], list[i - kPeriod]) ? run + 1 : 0;
    if (run <= longest) continue;
    longest = run;
    steady = {i + 1 - run - kPeriod, 1 + run / kPeriod};
  }
  return steady;
}

// `more`: micro-batches that the list lacks.
void add_rank(ListBuilder& lists, const std::vector<ComputeAction>& list, int more) {
  const Steady steady = steady_of(list);
  const auto add = [&](std::size_t from, std::size_t to, int further) {
    for (std::size_t i = from; i < to; ++i) {
      lists.add(list[i].kind, list[i].stage.value,
                static_cast<int>(list[i].micro_batch.value) + further);
    }
  };
  add(0, steady.begin, 0);
  lists.repeat(static_cast<int>(steady.periods) + more, 1,
               [&] { add(steady.begin, steady.begin + kPeriod, 0); });
  add(steady.begin + steady.periods * kPeriod, list.size(), more);
  lists.end_of_rank();
}

}  // namespace

// The two legs down the V and the two up do not collide modulo the period; `gap` keeps it so for
// every number of ranks. The two lifespans of a rank sum to 4 P + 2 gap slots of a period of 6
// (kMin), or 6 P + 2 gap - 1 (kHalf): a third, or half, of 1F1B's stash.
LegSlots v_pattern(VMemory memory, int ranks, int rank) {
  const int p = ranks, r = rank;
  if (memory == VMemory::kMin) {
    const int gap = p % 3 == 0 ? 2 : 0;
    return {r, 2 * p - 1 - r, 2 * p + gap + r, 4 * p + gap - 1 - r};
  }
  const int gap = p % 2 == 0 ? 3 : 0;
  return {2 * r, 3 * p - 2 - r, 3 * p + gap + 2 * r - 1, 6 * p + gap - 2 - r};
}

std::vector<std::vector<ComputeAction>> v_lists(VMemory memory, int ranks, int micro_batches) {
  std::vector<LegSlots> pattern;
  pattern.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) pattern.push_back(v_pattern(memory, ranks, r));
  return VSqueeze(pattern, micro_batches).lists();
}

Schedule v_schedule(const ScheduleKind& kind, VMemory memory, const ScheduleShape& shape) {
  const int made = std::min(shape.micro_batches, enough_to_roll_up(memory, shape.ranks));
  ListBuilder lists(kind.name, shape, kind.map);
  for (const std::vector<ComputeAction>& list : v_lists(memory, shape.ranks, made)) {
    add_rank(lists, list, shape.micro_batches - made);
  }
  return lists.finish();
}

namespace {

// What a rank holds where it first holds most, by chunk, and the most forwards of each chunk that
// wait for their backward. Observed, as least_held() tells it: a test compares with the lists.
struct VHeld {
  int first = 0, second = 0;
  int most_of_first = 0, most_of_second = 0;
};

// The second chunk of rank r gets r + 1 before the first gradient comes back. `half`: of what any
// rank holds; `steady`: in its first chunk once all ranks are at work; `most`: of the first chunk,
// if there are enough micro-batches.
VHeld held_by(int half, int rank, int micro_batches, int steady, int most) {
  VHeld held;
  held.first = std::min(micro_batches, std::max(2 * half - rank - 1, steady));
  held.second = std::min({micro_batches, rank + 1, 2 * half - held.first});
  held.most_of_first = std::min(micro_batches, most);
  held.most_of_second = held.second;
  return held;
}

// Whether the drain begins before the last rank is filled. Ranks behind the first then have more
// forwards waiting than otherwise, up to all that they may hold, and no formula is known: up to 450
// ranks that never happened for M below 0.69 P, nor for M above P + 1.
bool drains_early(int ranks, int micro_batches) {
  return 5 * micro_batches > 3 * ranks && micro_batches < ranks + 2;
}

// P + 2 activations at most, P + 1 of an odd P.
VHeld held_in_half(int ranks, int rank, int micro_batches) {
  const int half = ranks / 2 + 1;
  const int behind = ranks - 1 - rank;
  constexpr std::array kLastRanks{0, 1, 2, 2, 3, 3};
  const auto last = static_cast<std::size_t>(behind);
  const int by_end = last < kLastRanks.size() ? kLastRanks[last] : (behind + 1) / 2 + 1;
  const int by_begin = ranks / 2 - (rank + (ranks % 2 == 0 ? 2 : 1)) / 3;
  VHeld held = held_by(half, rank, micro_batches, half + (behind + 2) / 4,
                       half + std::min(by_end, by_begin));
  if (rank > 0 && drains_early(ranks, micro_batches)) {
    held.most_of_first = held.most_of_second = std::min(micro_batches, 2 * half);
  }
  return held;
}

// 2 P / 3 + 2 at most, 2 (P + 1) / 3 + 2 of P = 8, 11, 14, .., of which the first two ranks get one
// less.
VHeld held_in_min(int ranks, int rank, int micro_batches) {
  const int half = (ranks + 1) / 3 + 1;
  const int behind = ranks - 1 - rank;
  constexpr std::array kFirstRanks{5, 3, 11};
  const int first = kFirstRanks[static_cast<std::size_t>(ranks % 3)];
  const int by_end = behind == 0 || behind == 2 ? behind / 2 : (behind + 4) / 3;
  const int by_begin = half - 1 - (rank + first) / 6;
  VHeld held = held_by(half, rank, micro_batches, half + (behind + 3) / 6,
                       half + std::min(by_end, by_begin));
  if (ranks % 3 == 2 && rank < 2) held.first = std::min(micro_batches, 2 * half - rank - 2);
  return held;
}

// No lists of more ranks were compared.
constexpr int kMostRanksKnown = 512;

// Of v-min with P = 2 and 5 more ranks hold most at two places; with P = 11, 14, .. and this number
// of micro-batches some ranks in the middle have one forward more waiting than otherwise.
bool is_known(VMemory memory, const ScheduleShape& shape) {
  if (shape.ranks > kMostRanksKnown) return false;
  if (memory == VMemory::kHalf || shape.ranks % 3 != 2) return true;
  return shape.ranks > 5 && shape.micro_batches != 2 * (shape.ranks + 1) / 3;
}

// Of v-min with P = 8, 11, 14, .. rank 1 holds most where its first gradients have come: another
// forward and the two weight gradients that are yet to be worked out.
bool holds_most_behind_gradients(VMemory memory, const ScheduleShape& shape, int rank,
                                 const VHeld& held) {
  return memory == VMemory::kMin && shape.ranks % 3 == 2 && rank == 1 &&
         shape.micro_batches >= held.first + 2;
}

std::optional<Schedule> held_by_formula(const ScheduleKind& kind, VMemory memory,
                                        const ScheduleShape& shape) {
  if (!is_known(memory, shape)) return std::nullopt;
  const auto held_in = memory == VMemory::kHalf ? held_in_half : held_in_min;
  ListBuilder lists(kind.name, shape, kind.map);
  const auto repeat = [&](int times, ActionKind action, int stage, int micro_batch) {
    lists.repeat(times, 1, [&] { lists.add(action, stage, micro_batch); });
  };
  for (int r = 0; r < shape.ranks; ++r) {
    const VHeld held = held_in(shape.ranks, r, shape.micro_batches);
    const int second = 2 * shape.ranks - 1 - r;
    repeat(held.first, ActionKind::kForward, r, 0);
    repeat(held.second, ActionKind::kForward, second, 0);
    if (holds_most_behind_gradients(memory, shape, r, held)) {
      for (const int stage : {r, second}) lists.add(ActionKind::kInputGradient, stage, 0);
      lists.add(ActionKind::kForward, r, held.first);
      for (const int stage : {r, second}) lists.add(ActionKind::kWeightGradient, stage, 0);
      lists.add(ActionKind::kForward, second, 0);
    }
    repeat(held.second, ActionKind::kFusedBackward, second, 0);
    repeat(held.most_of_first - held.first, ActionKind::kForward, r, held.first);
    repeat(held.most_of_first, ActionKind::kFusedBackward, r, 0);
    repeat(held.most_of_second, ActionKind::kForward, second, 0);
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kVHalf = {
    .name = "v-half",
    .summary = "two stages per rank on a V: about half of 1F1B's memory and of its bubble",
    .backward = BackwardKind::kSplit,
    .map = StageMap::kV,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .enough_micro_batches = enough_for_half,
    .generate =
        [](const ScheduleShape& shape) { return v_schedule(kVHalf, VMemory::kHalf, shape); },
    .held_alike =
        [](const ScheduleShape& shape) { return held_by_formula(kVHalf, VMemory::kHalf, shape); },
};

const ScheduleKind kVMin = {
    .name = "v-min",
    .summary =
        "two stages per rank on a V: about a third of 1F1B's memory, two thirds of its bubble; for "
        "F, I and W that are alike",
    .backward = BackwardKind::kSplit,
    .map = StageMap::kV,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .enough_micro_batches = enough_for_min,
    .generate = [](const ScheduleShape& shape) { return v_schedule(kVMin, VMemory::kMin, shape); },
    .held_alike =
        [](const ScheduleShape& shape) { return held_by_formula(kVMin, VMemory::kMin, shape); },
};

}  // namespace penstock
