#include "simulator/program_tables.h"

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {

void add_data_groups(const std::vector<PipelineInput>& pipelines, const LoweringOptions& options,
                     Program& program) {
  const Schedule& schedule = pipelines.at(0).schedule;
  const int stages = schedule.stages();
  if (pipelines.size() * static_cast<std::size_t>(stages) >= kNoStage.value) {
    throw_bad_input(fmt::format(
        "{}: {} distinct pipelines of {} stages; at most {} stages are supported in all",
        pipelines[0].schedule.name, pipelines.size(), stages, kNoStage.value - 1));
  }
  if (!options.step_actions || !(options.reduce_gradients || options.unshard)) return;
  const std::size_t members = pipelines.size() * static_cast<std::size_t>(schedule.copies);
  for (int s = 0; s < schedule.stages_per_copy(); ++s) {
    program.groups.push_back({GroupKind::kDataParallel, fmt::format("dp.stage{}", s),
                              static_cast<std::uint32_t>(members)});
  }
}

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

}  // namespace penstock
