// Each part is left out in turn, by a price of zero, and the step is replayed; where a replay
// cannot say it, the step less the part's time is a bound, and marked so. Parts hide each other, so
// what they save does not add up to the step.
#include "studies/step_parts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/values/durations.h"
#include "report/measures.h"
#include "search/rolled_program.h"
#include "simulator/events/executed_order.h"
#include "simulator/simulate.h"
#include "studies/changes.h"

namespace penstock {
namespace {

constexpr std::array kForward{&ComputePrice::forward};
constexpr std::array kBackward{&ComputePrice::fused_backward, &ComputePrice::input_gradient};
constexpr std::array kWeight{&ComputePrice::weight_gradient};
constexpr std::array kRecompute{&ComputePrice::recompute};

template <std::size_t N>
void free_compute(PlanFile& file, const std::array<ComputeTime, N>& kinds) {
  for (ComputePrice& price : file.prices.compute) {
    for (const auto kind : kinds) price.*kind = {};
  }
}

void free_forward(PlanFile& file) { free_compute(file, kForward); }
void free_backward(PlanFile& file) { free_compute(file, kBackward); }
void free_weight(PlanFile& file) { free_compute(file, kWeight); }
void free_recompute(PlanFile& file) { free_compute(file, kRecompute); }
void free_both(PlanFile& file) {
  free_forward(file);
  free_backward(file);
}

// What one rank's compute stream spends on every kind of action.
struct Busy {
  Duration forward{}, backward{}, weight{}, recompute{}, optimizer{};
  bool overlaps = false;  // a forward and a backward share their time: it counts as backward

  Busy(const Program& program, const Timeline& timeline, int rank) {
    for (std::size_t i = 0; i < program.actions.size(); ++i) {
      const Action& action = program.actions[i];
      if (!is_compute(action.kind) || static_cast<int>(program.rank_of(action).value) != rank) {
        continue;
      }
      overlaps = overlaps || action.overlaps_next;
      if (!action.overlaps_next) of(action.kind) += timeline.end[i] - timeline.start[i];
    }
  }

 private:
  Duration& of(ActionKind kind) {
    if (kind == ActionKind::kForward) return forward;
    if (kind == ActionKind::kWeightGradient) return weight;
    if (kind == ActionKind::kRecompute) return recompute;
    return kind == ActionKind::kOptimizer ? optimizer : backward;
  }
};

// Durations do not depend on when actions run: they grow evenly with the micro-batches.
Busy busy_of_rolled_up(const PlanFile& file, int rank) {
  const FewMicroBatches few = few_micro_batches(file);
  const auto busy = [&](const PlanFile& of) {
    return Busy(of.program, simulate(of.program, of.prices, of.executor), rank);
  };
  Busy all = busy(few.first);
  const Busy first = all, second = busy(few.second);
  for (const auto part :
       {&Busy::forward, &Busy::backward, &Busy::weight, &Busy::recompute, &Busy::optimizer}) {
    all.*part += (second.*part - first.*part) * few.steps;
  }
  return all;
}

Busy busy_of(const PlanFile& file, const Replayed& replayed, int rank) {
  if (is_rolled_up(file)) return busy_of_rolled_up(file, rank);
  if (file.program.rule == RunTimeRule::kNone) return {file.program, replayed.timeline, rank};
  const ExecutedProgram executed = as_executed(file.program, replayed.timeline);
  return {executed.program, executed.timeline, rank};
}

class Parts {
 public:
  Parts(const PlanFile& file, Duration step) : file_(file), step_(step) {}

  void replayed(std::string_view name, std::string_view meaning, Duration time,
                void (*change)(PlanFile&)) {
    parts_.push_back(
        {std::string(name), std::string(meaning), time, step_after(file_, change), false});
  }
  void bounded(std::string_view name, std::string_view meaning, Duration time) {
    parts_.push_back(
        {std::string(name), std::string(meaning), time, std::max(Duration{}, step_ - time), true});
  }
  [[nodiscard]] std::vector<StepPart> take() { return std::move(parts_); }

 private:
  const PlanFile& file_;
  Duration step_;
  std::vector<StepPart> parts_;
};

void add_compute(Parts& parts, const Busy& busy) {
  if (busy.overlaps) {
    parts.replayed("forward, backward", "some of them overlap", busy.forward + busy.backward,
                   free_both);
  } else {
    parts.replayed("forward", "", busy.forward, free_forward);
    parts.replayed(busy.weight > Duration{} ? "input gradient" : "backward", "", busy.backward,
                   free_backward);
  }
  if (busy.weight > Duration{}) {
    parts.replayed("weight gradient", "", busy.weight, free_weight);
  }
  if (busy.recompute > Duration{}) {
    parts.replayed("recompute", "", busy.recompute, free_recompute);
  }
  parts.replayed("optimizer", "", busy.optimizer, free_optimizer);
}

}  // namespace

std::vector<StepPart> step_parts(const PlanFile& file, const Replayed& replayed) {
  const Evaluation& evaluation = replayed.evaluation;
  const std::size_t busiest = busiest_rank(evaluation);
  const RankTime& time = evaluation.ranks.at(busiest).time;
  Parts parts(file, evaluation.step_time);
  add_compute(parts, busy_of(file, replayed, static_cast<int>(busiest)));
  parts.replayed("transfer", "waits for a transfer", time.transfer, free_transfers);
  parts.replayed("barrier", "gradient reduction, norm, other ranks' optimizers", time.barrier,
                 free_reductions);
  parts.bounded("warm-up", "waits before its first backward", time.warm_up);
  parts.bounded("drain", "waits after its last forward", time.drain);
  parts.bounded("imbalance", "waits in between for a rank with more work", time.imbalance);
  parts.bounded("order", "waits in between for its turn", time.order);
  if (file.executor.per_step > Duration{}) {
    parts.bounded("fixed", "once per step, by the executor", file.executor.per_step);
  }
  return parts.take();
}

}  // namespace penstock
