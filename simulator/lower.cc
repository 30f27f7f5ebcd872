#include "simulator/lower.h"

#include <algorithm>

#include "simulator/lower_pipeline.h"
#include "simulator/program_tables.h"
#include "simulator/step_tail.h"

namespace penstock {
namespace {

std::size_t expected_actions(const std::vector<PipelineInput>& pipelines,
                             const LoweringOptions& options) {
  std::size_t count = 0;
  for (const PipelineInput& input : pipelines) {
    const auto stages = static_cast<std::size_t>(input.schedule.stages());
    const std::size_t per_stage = input.micro_batches.size();
    // REDUCE_GRAD, OPT and UNSHARD per stage, NORM per rank, and the tied stages once more.
    count += input.schedule.length() + 4 * stages;
    for (const TiedStages& tie : options.tied) count += 2 * tie.stages.size();
    if (options.transfers && input.schedule.ranks > 1) count += 4 * (stages - 1) * per_stage;
    if (options.recompute) count += stages * per_stage;
  }
  return count;
}

}  // namespace

Program lower(const std::vector<PipelineInput>& pipelines, const LoweringOptions& options) {
  Program program;
  program.schedule = pipelines.at(0).schedule.name;
  program.rule = pipelines.at(0).schedule.rule;
  program.actions.reserve(expected_actions(pipelines, options));
  add_data_groups(pipelines, options, program);
  std::vector<PipelineEnds> ends;
  ends.reserve(pipelines.size());
  for (const PipelineInput& input : pipelines) {
    add_pipeline(input, program);
    ends.push_back(lower_pipeline(input, options, program));
  }
  if (options.step_actions) emit_step_tail(pipelines, options, ends, program);
  return program;
}

std::int64_t lowered_actions(const Schedule& schedule, const LoweringOptions& options) {
  const bool places_recompute =
      schedule.rule != RunTimeRule::kNone ||
      std::any_of(schedule.actions.begin(), schedule.actions.end(),
                  [](const ComputeAction& a) { return a.kind == ActionKind::kRecompute; });
  const auto crosses = [&](int a, int b) {
    const auto& rank = schedule.rank_of_stage;
    return options.transfers &&
           rank[static_cast<std::size_t>(a)] != rank[static_cast<std::size_t>(b)];
  };
  std::int64_t count = 0;
  for (const ScheduleBlock& block : schedule.blocks) {
    std::int64_t each = 0;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule.actions[at];
      const int stage = action.stage.value;
      const bool forward = action.kind == ActionKind::kForward, backward = is_backward(action.kind);
      each += 1 + (backward && options.recompute && !places_recompute ? 1 : 0);
      if (forward && schedule.has_next(stage) && crosses(stage, stage + 1)) each += 2;
      if (backward && schedule.has_previous(stage) && crosses(stage, stage - 1)) each += 2;
    }
    count += each * block.repeat;
  }
  return count;
}

}  // namespace penstock
