// The shortest of several families under a ladder of limits: 1F1B and the handcrafted ZB-H1 and
// ZB-H2 where they fit, the published heuristic (sail-sg/zero-bubble-pipeline-parallelism) in its
// eight variants, two variants that share the warm-up out in proportion, and list scheduling. A
// rung of the ladder lets every rank hold so many activations, or as many as it has memory for;
// RungShape says whether all ranks get the same or fewer towards the end of the pipeline, where
// less is in flight.
//
// A run is skipped where a run before it tells its result (tells_nothing_new()), and all the rest
// where no schedule within the limits could be shorter (lower_bound()). Invariant: skipping saves
// time and never changes the answer.
#include "simulator/schedules/zb_auto.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "simulator/schedules/automatic_input.h"
#include "simulator/schedules/kinds.h"
#include "simulator/schedules/limit_ladder.h"
#include "simulator/schedules/zb_greedy.h"

namespace penstock {
namespace {

constexpr std::array<ZbVariant, 8> kPublished = {{{true, true, true},
                                                  {true, true, false},
                                                  {true, false, true},
                                                  {true, false, false},
                                                  {false, true, true},
                                                  {false, true, false},
                                                  {false, false, true},
                                                  {false, false, false}}};
constexpr std::array<ZbVariant, 2> kProportional = {
    {{false, false, true, true}, {false, false, false, true}}};

class Search {
 public:
  Search(const StageCosts& costs, int micro_batches, Shortest shortest)
      : costs_(costs),
        micro_batches_(micro_batches),
        shortest_(shortest),
        stages_(pipeline_stages(costs)),
        heuristic_(costs, micro_batches, shortest),
        greedy_(costs, micro_batches, shortest),
        ladder_(costs, 1, micro_batches),
        limits_(costs.limit),
        least_limits_(costs.limit.size(), kUnbounded),
        lists_(costs.limit.size(), 1, micro_batches),
        length_(costs.to_beat),
        bar_(costs.to_beat) {
    tried_.reserve(kPublished.size() + kProportional.size());
  }

  void try_handcrafted();
  void try_published_under_the_limits();
  void try_highest_rung();
  void try_lower_rungs();
  void try_greedy();
  void try_lowered_limits();

  [[nodiscard]] AutomaticLists result() const {
    if (length_ >= costs_.to_beat) return {{}, length_, true, ""};
    return {compute_actions(lists_), length_, false, ""};
  }

 private:
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  // What a run under the present limits told about others.
  struct Tried {
    ZbVariant variant, mattered;
  };

  void try_rungs(std::int64_t highest, RungShape shape);
  void try_rung(RungShape shape);
  void try_greedy(RungShape shape);
  void try_greedy_now();
  void try_limited_rungs(RungShape shape);
  void run(const ZbVariant& variant);
  void take(const SplitLists& lists, Duration length, Duration bar);
  [[nodiscard]] bool tells_nothing_new(const ZbVariant& variant) const;
  void set_limits(std::int64_t rung, RungShape shape) { ladder_.set_limits(rung, shape, limits_); }
  [[nodiscard]] bool keeps_stages_waiting() const;
  [[nodiscard]] bool same_as_before() const;
  [[nodiscard]] Duration lower_bound() const;

  const StageCosts& costs_;
  int micro_batches_;
  Shortest shortest_;
  std::vector<PipelineStage> stages_;
  ZbHeuristic heuristic_;
  ZbGreedy greedy_;
  LimitLadder ladder_;
  std::vector<std::int64_t> limits_;        // now
  std::vector<std::int64_t> least_limits_;  // for which all runs of the last rung go the same
  std::vector<Tried> tried_;                // under these limits
  SplitLists lists_;                        // the best so far
  Duration length_;                         // of them; at first what is to be beaten
  Duration bar_;                            // what must be below this to be better
};

void Search::try_handcrafted() {
  ScheduleShape shape;
  shape.ranks = static_cast<int>(limits_.size());
  shape.micro_batches = micro_batches_;
  for (const ScheduleKind* kind : {&kOneForwardOneBackward, &kZbH1, &kZbH2}) {
    const SplitLists lists = split_lists(kind->generate(shape));
    if (!fits(lists, costs_)) continue;
    const Duration length = length_of(lists, costs_, shortest_);
    if (length >= length_) continue;
    take(lists, length, length + Duration{1});
  }
}

// `bar`: one more than the length for lists that yield to the heuristic's of the same length.
void Search::take(const SplitLists& lists, Duration length, Duration bar) {
  lists_ = lists;
  length_ = length;
  bar_ = bar;
}

void Search::try_greedy() {
  try_greedy(RungShape::kEven);
  if (ladder_.tries_tapered()) try_greedy(RungShape::kTapered);
}

// Where the rounds of the heuristic would keep stages waiting for each other.
void Search::try_greedy(RungShape shape) {
  for (std::int64_t rung = ladder_.highest(); rung >= ladder_.lowest(); --rung) {
    set_limits(rung, shape);
    if (lower_bound() >= length_) return;
    try_greedy_now();
  }
}

void Search::try_greedy_now() {
  if (!keeps_stages_waiting()) return;
  for (const InFlight in_flight : {InFlight::kAsMemoryAllows, InFlight::kAsNeeded}) {
    const auto length = greedy_.run({in_flight, false}, limits_, length_);
    if (length) take(greedy_.lists(), *length, *length);
  }
}

// What would be tried with as many bytes less on every rank: only rungs that some rank's own limit
// cuts off are others.
void Search::try_lowered_limits() {
  if (!ladder_.tries_lowered()) return;
  while (ladder_.lower()) {
    set_limits(ladder_.highest_now(), RungShape::kEven);
    if (lower_bound() >= bar_) return;
    try_limited_rungs(RungShape::kEven);
    if (ladder_.tries_tapered()) try_limited_rungs(RungShape::kTapered);
  }
}

void Search::try_limited_rungs(RungShape shape) {
  least_limits_.assign(limits_.size(), kUnbounded);
  const std::int64_t highest =
      shape == RungShape::kEven ? ladder_.highest_now() : ladder_.highest();
  for (std::int64_t rung = highest; rung >= ladder_.lowest() && ladder_.is_limited(rung, shape);
       --rung) {
    set_limits(rung, shape);
    if (lower_bound() >= bar_) return;
    if (same_as_before()) continue;
    try_greedy_now();
    try_rung(shape);
  }
}

// With as many activations as there are stages from a stage on the stages can go in lockstep, which
// the rounds do better.
bool Search::keeps_stages_waiting() const {
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const auto in_flight = static_cast<std::int64_t>(limits_.size() - j);
    if (limits_[j] < in_flight * costs_.taken_by_forward[j]) return true;
  }
  return false;
}

void Search::try_published_under_the_limits() {
  for (const ZbVariant& variant : kPublished) run(variant);
}

void Search::try_highest_rung() {
  set_limits(ladder_.highest(), RungShape::kEven);
  if (lower_bound() < bar_) try_rung(RungShape::kEven);
}

void Search::try_lower_rungs() {
  try_rungs(ladder_.highest() - 1, RungShape::kEven);
  if (!ladder_.tries_tapered()) return;
  least_limits_.assign(limits_.size(), kUnbounded);  // what the even rungs told
  try_rungs(ladder_.highest(), RungShape::kTapered);
}

// From the top: the best is usually there, and lower rungs then fail early. Lower limits are
// skipped where they would change nothing, and all the rest where no schedule at all could be
// shorter.
void Search::try_rungs(std::int64_t highest, RungShape shape) {
  for (std::int64_t rung = highest; rung >= ladder_.lowest(); --rung) {
    set_limits(rung, shape);
    if (same_as_before()) continue;
    if (lower_bound() >= bar_) return;
    try_rung(shape);
  }
}

void Search::try_rung(RungShape shape) {
  tried_.clear();
  least_limits_.assign(limits_.size(), 0);
  // Tapered limits are for what the even ones cannot do: two of the published variants suffice.
  const std::size_t from = shape == RungShape::kEven ? 0 : kPublished.size() - 2;
  for (std::size_t v = from; v < kPublished.size(); ++v) run(kPublished[v]);
  for (const ZbVariant& variant : kProportional) run(variant);
}

void Search::run(const ZbVariant& variant) {
  if (tells_nothing_new(variant)) return;
  if (const auto length = heuristic_.run(variant, limits_, bar_)) {
    take(heuristic_.lists(), *length, *length);
  }
  tried_.push_back({variant, heuristic_.mattered()});
  for (std::size_t j = 0; j < least_limits_.size(); ++j) {
    least_limits_[j] = std::max(least_limits_[j], heuristic_.least_limit(j));
  }
}

// Whether a run under these limits differed only in what did not matter.
bool Search::tells_nothing_new(const ZbVariant& variant) const {
  const auto same = [](bool a, bool b, bool mattered) { return a == b || !mattered; };
  return std::any_of(tried_.begin(), tried_.end(), [&](const Tried& tried) {
    const auto& [other, mattered] = tried;
    return same(variant.wait_for_gradient, other.wait_for_gradient, mattered.wait_for_gradient) &&
           same(variant.hurry_gradient, other.hurry_gradient, mattered.hurry_gradient) &&
           same(variant.fill_every_gap, other.fill_every_gap, mattered.fill_every_gap) &&
           same(variant.proportional_warm_up, other.proportional_warm_up,
                mattered.proportional_warm_up);
  });
}

bool Search::same_as_before() const {
  return std::equal(limits_.begin(), limits_.end(), least_limits_.begin(), std::greater_equal<>());
}

// No schedule within the limits is shorter. After its first F a stage has nothing but forwards to
// do until the first gradient is back, and memory for so many; and all micro-batches hold memory
// from their F to their I.
Duration Search::lower_bound() const {
  Duration bound{0};
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const PipelineStage& stage = stages_[j];
    const std::int64_t held = stage.taken == 0 ? micro_batches_ : limits_[j] / stage.taken;
    const Duration way_back = stage.round_trip - stage.forward - stage.input_gradient;
    const Duration idle = std::max(way_back - (held - 1) * stage.forward, Duration{0});
    bound = std::max(
        {bound, micro_batches_ * stage.work + idle, micro_batches_ * stage.round_trip / held});
  }
  return bound;
}

}  // namespace

AutomaticLists zb_published(const StageCosts& costs, int micro_batches) {
  check_costs(costs, 1, micro_batches);
  if (std::string why = why_no_forward_fits(costs); !why.empty())
    return {{}, {}, false, std::move(why)};
  Search search(costs, micro_batches, Shortest::kSpan);
  search.try_published_under_the_limits();
  return search.result();
}

AutomaticLists zb_auto(const StageCosts& costs, int micro_batches) {
  check_costs(costs, 1, micro_batches);
  if (std::string why = why_no_forward_fits(costs); !why.empty())
    return {{}, {}, false, std::move(why)};
  Search search(costs, micro_batches, costs.shortest);
  search.try_handcrafted();
  search.try_highest_rung();  // mostly the best, so that the rest is soon lost
  search.try_greedy();
  search.try_lower_rungs();
  search.try_lowered_limits();
  return search.result();
}

}  // namespace penstock
