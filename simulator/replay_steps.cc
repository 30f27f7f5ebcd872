#include "simulator/replay_steps.h"

#include <algorithm>
#include <cstdlib>

namespace penstock {
namespace {

constexpr std::size_t kComputeKinds = static_cast<std::size_t>(ActionKind::kRecompute) + 1;

// Within a rank the order of its list says it all.
std::int32_t boundary_between(const Schedule& schedule, int a, int b, int index) {
  const auto rank = [&](int s) { return schedule.rank_of_stage[static_cast<std::size_t>(s)]; };
  return rank(a) == rank(b) ? -1 : index;
}

// With the boundaries that it reads and writes.
ReplaySteps::Step step_between(const Schedule& schedule, const ComputeAction& action) {
  const int stage = action.stage.value;
  const auto boundary = [&](int a, int b, int index) {
    return boundary_between(schedule, a, b, index);
  };
  ReplaySteps::Step step;
  const bool backward = is_backward(action.kind);
  if (action.kind == ActionKind::kForward) {
    if (schedule.has_previous(stage)) step.read = boundary(stage - 1, stage, 2 * stage);
    if (schedule.has_next(stage)) step.write = boundary(stage, stage + 1, 2 * (stage + 1));
  }
  if (backward || action.kind == ActionKind::kRecompute) {
    if (schedule.has_next(stage)) step.read = boundary(stage, stage + 1, 2 * stage + 1);
  }
  if (backward && schedule.has_previous(stage)) {
    step.write = boundary(stage - 1, stage, 2 * (stage - 1) + 1);
  }
  return step;
}

}  // namespace

void ReplaySteps::make(const Schedule& schedule, std::size_t runs) {
  steps.clear();
  steps.reserve(schedule.actions.size());
  kinds.clear();
  writers.clear();
  recomputes = false;
  // [stage][kind][second of a pair]: those differ in their micro-batches only. 0: not yet met.
  const auto stages = static_cast<std::size_t>(schedule.stages());
  std::vector<std::uint32_t> known(2 * kComputeKinds * stages, 0);
  std::vector<Step> step_of_kind;
  for (const ComputeAction& action : schedule.actions) {
    const bool second = !steps.empty() && steps.back().pair;
    const std::size_t kind =
        action.stage.value * kComputeKinds + static_cast<std::size_t>(action.kind);
    std::uint32_t& number = known[2 * kind + (second ? 1 : 0)];
    if (number == 0) {
      Step step = step_between(schedule, action);
      step.costs = static_cast<std::uint32_t>(kinds.size() * runs);
      step_of_kind.push_back(step);
      kinds.push_back({action.kind, action.stage, second, step.write >= 0});
      number = static_cast<std::uint32_t>(kinds.size());
      recomputes = recomputes || action.kind == ActionKind::kRecompute;
    }
    Step step = step_of_kind[number - 1];
    step.micro_batch = action.micro_batch.value;
    step.pair = action.overlaps_next;
    steps.push_back(step);
  }
  sent_downwards.assign(2 * stages, false);
  for (const ScheduleBlock& block : schedule.blocks) {
    if (block.advance >= 0) continue;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      if (steps[at].write >= 0) sent_downwards[static_cast<std::size_t>(steps[at].write)] = true;
    }
  }
}

void ReplaySteps::note_writers(const Schedule& schedule) {
  writers.assign(sent_downwards.size(), {});
  for (std::uint32_t b = 0; b < schedule.blocks.size(); ++b) {
    const ScheduleBlock& block = schedule.blocks[b];
    if (block.repeat == 0) continue;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      if (steps[at].write < 0) continue;
      auto& of_boundary = writers[static_cast<std::size_t>(steps[at].write)];
      if (of_boundary.empty() || of_boundary.back().block != b) of_boundary.push_back({b, {}});
      of_boundary.back().steps.push_back({key_of(block, steps[at].micro_batch), at});
    }
  }
  for (auto& of_boundary : writers) {
    for (Writers& of_block : of_boundary) std::sort(of_block.steps.begin(), of_block.steps.end());
  }
}

std::int64_t ReplaySteps::key_of(const ScheduleBlock& block, std::int64_t micro_batch) {
  const std::int64_t advance = std::abs(std::int64_t{block.advance});
  return advance == 0 || block.repeat == 1 ? micro_batch : micro_batch % advance;
}

}  // namespace penstock
