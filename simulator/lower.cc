#include "simulator/lower.h"

#include <fmt/format.h>

#include "core/error.h"
#include "simulator/lower_pipeline.h"
#include "simulator/step_tail.h"

namespace penstock {
namespace {

// Registers ranks, stages and micro-batches of one pipeline.
void add_pipeline(const PipelineInput& input, Program& program) {
  const Schedule& schedule = input.schedule;
  Pipeline pipeline;
  pipeline.first_rank = program.ranks();
  pipeline.ranks = schedule.ranks;
  pipeline.first_stage = static_cast<int>(program.stages.size());
  pipeline.stages = schedule.stages();
  pipeline.first_micro_batch = static_cast<std::uint32_t>(program.micro_batches.size());
  pipeline.micro_batches = static_cast<std::uint32_t>(input.micro_batches.size());
  pipeline.replicas = input.replicas;
  pipeline.copies = schedule.copies;
  for (int s = 0; s < pipeline.stages; ++s) {
    const auto id = [&](int stage) {
      return StageId{static_cast<std::uint16_t>(pipeline.first_stage + stage)};
    };
    Stage stage;
    stage.rank = RankId{pipeline.first_rank + schedule.rank_of_stage[static_cast<std::size_t>(s)]};
    if (schedule.has_previous(s)) stage.previous = id(s - 1);
    if (schedule.has_next(s)) stage.next = id(s + 1);
    stage.weight_set = s % schedule.stages_per_copy();
    stage.pipeline = static_cast<int>(program.pipelines.size());
    program.stages.push_back(stage);
  }
  program.micro_batches.insert(program.micro_batches.end(), input.micro_batches.begin(),
                               input.micro_batches.end());
  program.pipelines.push_back(pipeline);
}

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
  const int stages = pipelines.at(0).schedule.stages();
  if (pipelines.size() * static_cast<std::size_t>(stages) >= kNoStage.value) {
    throw_bad_input(fmt::format(
        "{}: {} distinct pipelines of {} stages; at most {} stages are supported in all",
        pipelines[0].schedule.name, pipelines.size(), stages, kNoStage.value - 1));
  }
  Program program;
  program.schedule = pipelines.at(0).schedule.name;
  program.rule = pipelines.at(0).schedule.rule;
  program.actions.reserve(expected_actions(pipelines, options));
  if (options.step_actions && (options.reduce_gradients || options.unshard)) {
    const auto copies = static_cast<std::size_t>(pipelines[0].schedule.copies);
    for (int s = 0; s < pipelines[0].schedule.stages_per_copy(); ++s) {
      program.groups.push_back({GroupKind::kDataParallel, fmt::format("dp.stage{}", s),
                                static_cast<std::uint32_t>(pipelines.size() * copies)});
    }
  }
  std::vector<PipelineEnds> ends;
  ends.reserve(pipelines.size());
  for (const PipelineInput& input : pipelines) {
    add_pipeline(input, program);
    ends.push_back(lower_pipeline(input, options, program));
  }
  if (options.step_actions) emit_step_tail(pipelines, options, ends, program);
  return program;
}

}  // namespace penstock
