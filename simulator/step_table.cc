#include "simulator/step_table.h"

namespace penstock {
namespace {

constexpr std::size_t kComputeKinds = static_cast<std::size_t>(ActionKind::kRecompute) + 1;

}  // namespace

StepTable::StepTable(const Schedule& schedule, const Program& program, std::size_t pipeline,
                     const PriceTable& prices, bool recompute, bool transfers)
    : schedule_(schedule),
      pipeline_(program.pipelines[pipeline]),
      prices_(prices),
      recompute_(recompute),
      transfers_(transfers),
      known_(2 * kComputeKinds * static_cast<std::size_t>(schedule.stages())) {}

RolledReplay::Step StepTable::step_of(const ComputeAction& action, bool second_of_pair,
                                      std::vector<RolledReplay::Costs>& costs) {
  const std::size_t kind =
      action.stage.value * kComputeKinds + static_cast<std::size_t>(action.kind);
  std::optional<RolledReplay::Step>& known = known_[2 * kind + (second_of_pair ? 1 : 0)];
  if (!known) {
    known = between(action);
    known->costs = static_cast<std::uint32_t>(costs.size());
    for (std::uint32_t run = 0; run < pipeline_.micro_batches; ++run) {
      costs.push_back(costs_of(action, second_of_pair, run));
    }
  }
  RolledReplay::Step step = *known;
  step.micro_batch = action.micro_batch.value;
  step.pair = action.overlaps_next;
  return step;
}

// With the boundaries that it reads and writes.
RolledReplay::Step StepTable::between(const ComputeAction& action) const {
  const int stage = action.stage.value;
  RolledReplay::Step step;
  const bool backward = is_backward(action.kind);
  if (action.kind == ActionKind::kForward) {
    if (schedule_.has_previous(stage)) step.read = boundary(stage - 1, stage, 2 * stage);
    if (schedule_.has_next(stage)) step.write = boundary(stage, stage + 1, 2 * (stage + 1));
  }
  if (backward || action.kind == ActionKind::kRecompute) {
    if (schedule_.has_next(stage)) step.read = boundary(stage, stage + 1, 2 * stage + 1);
  }
  if (backward && schedule_.has_previous(stage)) {
    step.write = boundary(stage - 1, stage, 2 * (stage - 1) + 1);
  }
  return step;
}

// Within a rank the order of its list says it all.
std::int32_t StepTable::boundary(int a, int b, int index) const {
  const auto rank = [&](int s) { return schedule_.rank_of_stage[static_cast<std::size_t>(s)]; };
  return rank(a) == rank(b) ? -1 : index;
}

RolledReplay::Costs StepTable::costs_of(const ComputeAction& action, bool second_of_pair,
                                        std::uint32_t run) const {
  const auto price = [&](ActionKind kind) {
    Action priced;
    priced.kind = kind;
    priced.stage = StageId{static_cast<std::uint16_t>(pipeline_.first_stage + action.stage.value)};
    priced.micro_batch = MicroBatchId{pipeline_.first_micro_batch + run};
    return priced;
  };
  RolledReplay::Costs costs;
  const Action priced = price(action.kind);
  costs.duration = prices_.of(priced).count();
  costs.gain = prices_.entries()[prices_.entry_of_gain(priced)].count();
  if (is_backward(action.kind) && recompute_) {
    const std::int64_t again = prices_.of(price(ActionKind::kRecompute)).count();
    (second_of_pair ? costs.lead : costs.duration) += again;
  }
  if (!transfers_) return costs;
  const bool forward = action.kind == ActionKind::kForward;
  costs.delay =
      prices_.of(price(forward ? ActionKind::kSendActivation : ActionKind::kSendGradient)).count();
  return costs;
}

}  // namespace penstock
