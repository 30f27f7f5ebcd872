#include "simulator/schedules/zb_auto.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <span>
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

// How a rung becomes a limit per stage.
enum class Shape {
  kEven,     // as many activations everywhere
  kTapered,  // one less from every second stage on, for pipelines whose end has less memory
};

std::int64_t activations(int rung, Shape shape, std::size_t stage) {
  const auto less = shape == Shape::kEven ? 0 : static_cast<std::int64_t>(stage / 2);
  return std::max<std::int64_t>(1, rung - less);
}

class Search {
 public:
  Search(const StageCosts& costs, int micro_batches, Shortest shortest)
      : costs_(costs),
        micro_batches_(micro_batches),
        shortest_(shortest),
        stages_(pipeline_stages(costs)),
        heuristic_(costs, micro_batches, shortest),
        greedy_(costs, micro_batches, shortest),
        limits_(costs.limit),
        least_limits_(costs.limit.size(), kUnbounded),
        lists_(costs.limit.size(), 1, micro_batches) {
    tried_.reserve(kPublished.size() + kProportional.size());
  }

  void try_handcrafted();
  void try_published_under_the_limits();
  // Those whose limits the given ones admit; the limits rise with the rungs.
  std::span<const int> fitting(const std::vector<int>& rungs, Shape shape);
  void try_rounds(std::span<const int> rungs, Shape shape);
  void try_greedy(std::span<const int> rungs, Shape shape);
  // What the runs for one shape told of limits does not hold for another.
  void forget_limits() { least_limits_.assign(limits_.size(), kUnbounded); }

  [[nodiscard]] AutomaticLists result() const { return {compute_actions(lists_), length_, ""}; }

 private:
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  // What a run under the present limits told about others.
  struct Tried {
    ZbVariant variant, mattered;
  };

  void try_rung(Shape shape);
  void run(const ZbVariant& variant);
  void take(const SplitLists& lists, Duration length, Duration bar);
  [[nodiscard]] bool tells_nothing_new(const ZbVariant& variant) const;
  void set_limits(int rung, Shape shape);
  [[nodiscard]] bool same_as_before() const;
  [[nodiscard]] Duration lower_bound() const;

  const StageCosts& costs_;
  int micro_batches_;
  Shortest shortest_;
  std::vector<PipelineStage> stages_;
  ZbHeuristic heuristic_;
  ZbGreedy greedy_;
  std::vector<std::int64_t> limits_;        // now
  std::vector<std::int64_t> least_limits_;  // for which all runs of the last rung go the same
  std::vector<Tried> tried_;                // under these limits
  SplitLists lists_;                        // the best so far
  Duration length_{Duration::max()};        // of them
  Duration bar_{Duration::max()};           // what must be below this to be better
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

void Search::try_greedy(std::span<const int> rungs, Shape shape) {
  for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
    set_limits(*rung, shape);
    if (lower_bound() >= length_) return;
    for (const InFlight in_flight : {InFlight::kAsMemoryAllows, InFlight::kAsNeeded}) {
      const auto length = greedy_.run(in_flight, limits_, length_);
      if (length) take(greedy_.lists(), *length, *length);
    }
  }
}

void Search::try_published_under_the_limits() {
  for (const ZbVariant& variant : kPublished) run(variant);
}

std::span<const int> Search::fitting(const std::vector<int>& rungs, Shape shape) {
  const auto end = std::partition_point(rungs.begin(), rungs.end(), [&](int rung) {
    set_limits(rung, shape);
    return std::equal(limits_.begin(), limits_.end(), costs_.limit.begin(), std::less_equal<>());
  });
  return {rungs.begin(), end};
}

// From the top: the best is usually there, and lower rungs then fail early. Lower limits are
// skipped where they would change nothing, and all the rest where no schedule at all could be
// shorter.
void Search::try_rounds(std::span<const int> rungs, Shape shape) {
  for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
    set_limits(*rung, shape);
    if (same_as_before()) continue;
    if (lower_bound() >= bar_) return;
    try_rung(shape);
  }
}

void Search::try_rung(Shape shape) {
  tried_.clear();
  least_limits_.assign(limits_.size(), 0);
  // Tapered limits are for what the even ones cannot do: two of the published variants suffice.
  const std::size_t from = shape == Shape::kEven ? 0 : kPublished.size() - 2;
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

void Search::set_limits(int rung, Shape shape) {
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    limits_[j] = costs_.taken_by_forward[j] *
                 std::min<std::int64_t>(activations(rung, shape, j), micro_batches_);
  }
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
  if (std::string why = why_no_forward_fits(costs); !why.empty()) return {{}, {}, std::move(why)};
  Search search(costs, micro_batches, Shortest::kSpan);
  search.try_published_under_the_limits();
  return search.result();
}

AutomaticLists zb_auto(const StageCosts& costs, int micro_batches) {
  check_costs(costs, 1, micro_batches);
  if (std::string why = why_no_forward_fits(costs); !why.empty()) return {{}, {}, std::move(why)};
  const auto ranks = static_cast<int>(costs.limit.size());
  const std::vector<int> rungs = limit_ladder({ranks, 2 * ranks}, micro_batches);
  // With P activations and more the stages can go in lockstep, which the rounds do better.
  const std::vector<int> coarse = limit_ladder({}, std::min(ranks, micro_batches), 8);

  Search search(costs, micro_batches, costs.shortest);
  search.try_handcrafted();
  const std::span<const int> even = search.fitting(rungs, Shape::kEven);
  search.try_rounds(even.last(1), Shape::kEven);  // mostly the best, so that the rest is soon lost
  for (const Shape shape : {Shape::kEven, Shape::kTapered}) {
    search.try_greedy(search.fitting(coarse, shape), shape);
  }
  search.try_rounds(even.first(even.size() - 1), Shape::kEven);
  search.forget_limits();
  search.try_rounds(search.fitting(rungs, Shape::kTapered), Shape::kTapered);
  return search.result();
}

}  // namespace penstock
