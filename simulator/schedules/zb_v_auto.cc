// The best of four sources under the given limits: handcrafted schedules that fit, the published
// heuristic on rungs of a ladder of limits with costs that cover every stage, a greedy arrangement
// with the real costs, and that again with lowered limits. Rungs that a lower bound rules out are
// skipped. Of equal lengths the first stays, but handcrafted lists yield to the heuristic's, so the
// lists are the same everywhere.
#include "simulator/schedules/zb_v_auto.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "simulator/schedules/automatic_input.h"
#include "simulator/schedules/kinds.h"
#include "simulator/schedules/limit_ladder.h"
#include "simulator/schedules/zb_greedy.h"
#include "simulator/schedules/zb_v_heuristic.h"

namespace penstock {
namespace {

constexpr std::array<ZbVVariant, 4> kVariants = {
    {{true, true}, {true, false}, {false, true}, {false, false}}};

template <class T>
T largest(const std::vector<T>& values) {
  return *std::max_element(values.begin(), values.end());
}

// What covers every stage: between I and W a chunk holds at most the largest that any W frees.
EqualCosts covering(const StageCosts& costs) {
  EqualCosts equal{largest(costs.forward),
                   largest(costs.input_gradient),
                   largest(costs.weight_gradient),
                   std::max(largest(costs.activation), largest(costs.gradient)),
                   largest(costs.taken_by_forward),
                   0,
                   largest(costs.freed_by_weight_gradient)};
  equal.freed_by_input = equal.taken - equal.freed_by_weight;
  return equal;
}

// Why not even one micro-batch fits on a rank: which rank, how much it needs.
std::string why_nothing_fits(const StageCosts& costs) {
  const std::size_t ranks = costs.limit.size();
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::int64_t needed =
        costs.taken_by_forward[r] + costs.taken_by_forward[2 * ranks - 1 - r];
    if (needed <= costs.limit[r]) continue;
    return fmt::format(
        "rank {0} needs {1} for the activations of one micro-batch in its two stages, and its "
        "limit "
        "is {2}: a limit of {1} there would do, or smaller micro-batches",
        r, needed, costs.limit[r]);
  }
  return "";
}

// Every one up to 16, every second up to 32, every fourth up to 64 and so on.
bool is_among_eighths(std::int64_t rung) {
  std::int64_t apart = 1;
  while (rung / apart > 16) apart *= 2;
  return rung % apart == 0;
}

class Search {
 public:
  Search(const StageCosts& costs, int micro_batches)
      : costs_(costs),
        micro_batches_(micro_batches),
        ladder_(costs, 2, micro_batches),
        greedy_(costs, micro_batches, costs.shortest),
        limits_(costs.limit.size()),
        lists_(costs.limit.size(), 2, micro_batches),
        length_(costs.to_beat) {}

  void try_handcrafted();
  void try_published();
  void try_greedy();
  void try_lowered_limits();

  [[nodiscard]] AutomaticLists result() const {
    if (length_ >= costs_.to_beat) return {{}, length_, true, ""};
    return {compute_actions(lists_), length_, false, ""};
  }

 private:
  void take(const SplitLists& lists, Duration length) {
    lists_ = lists;
    length_ = length;
  }

  bool try_greedy(std::int64_t rung);

  // Where a run takes long.
  [[nodiscard]] bool is_long() const { return limits_.size() > 16; }

  const StageCosts& costs_;
  int micro_batches_;
  LimitLadder ladder_;
  ZbGreedy greedy_;
  std::vector<std::int64_t> limits_;  // now
  SplitLists lists_;                  // the best so far
  Duration length_;                   // of them; at first what is to be beaten
};

void Search::try_handcrafted() {
  ScheduleShape shape;
  shape.ranks = static_cast<int>(costs_.limit.size());
  shape.chunks = 2;
  shape.micro_batches = micro_batches_;
  for (const ScheduleKind* kind : {&kZbV, &kVHalf, &kVMin}) {
    if (kind->why_not != nullptr && !kind->why_not(shape).empty()) continue;
    const SplitLists lists = split_lists(kind->generate(shape));
    if (!fits(lists, costs_)) continue;
    const Duration length = length_of(lists, costs_, costs_.shortest);
    if (length < length_) take(lists, length);
  }
}

// From the top: the best is usually there. A lower rung is skipped where it would change nothing,
// or once its pattern idles twice as much as the best one.
void Search::try_published() {
  const EqualCosts equal = covering(costs_);
  ZbVHeuristic heuristic(equal, static_cast<int>(costs_.limit.size()), micro_batches_);
  const Duration least = greedy_.lower_bound(costs_.limit);
  Duration least_idle = Duration::max();
  std::int64_t same_from =
      std::numeric_limits<std::int64_t>::max();  // from here on the runs went the same
  // All activations, and what the warm-up wants to see free on its way down and back.
  std::int64_t most = 2 * (micro_batches_ + std::ssize(costs_.limit));
  const std::int64_t limit = *std::min_element(costs_.limit.begin(), costs_.limit.end());
  if (equal.taken > 0) most = std::min(most, limit / equal.taken);
  bool is_handcrafted = true;  // then it yields to the heuristic's lists of the same length
  for (std::int64_t rung = most; rung >= ladder_.lowest(); --rung) {
    const std::int64_t under = rung * equal.taken;
    if (under >= same_from) continue;
    if (length_ == least && !is_handcrafted) return;
    same_from = 0;
    const bool gives_up = is_long() && least_idle != Duration::max();
    const Duration bearable = gives_up ? least_idle + least_idle / 2 : Duration::max();
    for (const ZbVVariant& variant : kVariants) {
      const auto idle = heuristic.run(variant, under, bearable);
      same_from = std::max(same_from, heuristic.least_limit());
      if (!idle) continue;
      least_idle = std::min(least_idle, *idle);
      const Duration length = length_of(heuristic.lists(), costs_, costs_.shortest);
      if (length > length_ || (length == length_ && !is_handcrafted)) continue;
      take(heuristic.lists(), length);
      is_handcrafted = false;
    }
    // The pattern needs two activations of every rank.
    if (least_idle == Duration::max() && rung < 2 * std::ssize(costs_.limit)) return;
  }
}

// On long pipelines, where a run takes long, only every eighth of the way and one variant.
void Search::try_greedy() {
  for (std::int64_t rung = ladder_.highest(); rung >= ladder_.lowest(); --rung) {
    if (!try_greedy(rung)) return;
  }
}

// What would be tried with as many bytes less on every rank: only rungs that some rank's own limit
// cuts off are others.
void Search::try_lowered_limits() {
  if (!ladder_.tries_lowered()) return;
  while (ladder_.lower()) {
    const std::int64_t highest = ladder_.highest_now();
    ladder_.set_limits(highest, RungShape::kEven, limits_);
    if (greedy_.lower_bound(limits_) >= length_) return;
    for (std::int64_t rung = highest;
         rung >= ladder_.lowest() && ladder_.is_limited(rung, RungShape::kEven); --rung) {
      if (!try_greedy(rung)) break;
    }
  }
}

// False: neither this rung nor any lower one can be shorter.
bool Search::try_greedy(std::int64_t rung) {
  constexpr std::array<GreedyVariant, 3> kGreedy = {{{InFlight::kAsMemoryAllows, true},
                                                     {InFlight::kAsMemoryAllows, false},
                                                     {InFlight::kAsNeeded, false}}};
  if (is_long() && !is_among_eighths(rung)) return true;
  ladder_.set_limits(rung, RungShape::kEven, limits_);
  if (greedy_.lower_bound(limits_) >= length_) return false;
  for (const GreedyVariant& variant : std::span(kGreedy).first(is_long() ? 1 : kGreedy.size())) {
    if (const auto length = greedy_.run(variant, limits_, length_)) take(greedy_.lists(), *length);
  }
  return true;
}

}  // namespace

AutomaticLists zb_v_auto(const StageCosts& costs, int micro_batches) {
  check_costs(costs, 2, micro_batches);
  if (std::string why = why_nothing_fits(costs); !why.empty())
    return {{}, {}, false, std::move(why)};
  Search search(costs, micro_batches);
  search.try_handcrafted();
  search.try_published();
  search.try_greedy();
  search.try_lowered_limits();
  return search.result();
}

}  // namespace penstock
