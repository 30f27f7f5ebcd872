#include "trainers/pytorch/pipeline_csv.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/files/order_actions.h"
#include "core/values/error.h"
#include "trainers/pytorch/pipeline_csv_rules.h"

namespace penstock {
namespace {

// Everything of a Program but its actions.
Program tables_of(const PipelineCsv& csv, std::string name, int weight_slots) {
  Program program;
  program.schedule = std::move(name);
  Pipeline pipeline;
  pipeline.ranks = csv.ranks();
  pipeline.stages = static_cast<int>(csv.rank_of_stage.size());
  pipeline.micro_batches = static_cast<std::uint32_t>(csv.micro_batches);
  pipeline.weight_slots = weight_slots;
  program.pipelines = {pipeline};
  program.micro_batches.resize(static_cast<std::size_t>(csv.micro_batches));
  program.stages.resize(csv.rank_of_stage.size());
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    Stage& stage = program.stages[s];
    stage.rank = RankId{csv.rank_of_stage[s]};
    stage.weight_set = static_cast<int>(s);
    if (s > 0) stage.previous = StageId{static_cast<std::uint16_t>(s - 1)};
    if (s + 1 < program.stages.size()) stage.next = StageId{static_cast<std::uint16_t>(s + 1)};
  }
  return program;
}

// Every collective is a group of its own: a stage may gather its weights several times in a step.
void set_group(Program& program, Action& action) {
  if (!is_collective(action.kind)) return;
  action.group = GroupId{static_cast<std::uint32_t>(program.groups.size())};
  program.groups.push_back(
      {GroupKind::kDataParallel, fmt::format("dp.stage{}", action.stage.value), 1});
}

// Returns which actions wait for each other, empty when none do. Without receives an action waits
// for the compute action of the neighbouring stage, so it serves both forms.
std::string order(const PipelineCsv& csv, bool recompute, Program& program) {
  ActionLists lists;
  lists.begin.push_back(0);
  for (const std::vector<Action>& list : csv.lists) {
    for (Action action : list) {
      set_group(program, action);
      if (recompute && is_backward(action.kind)) {
        lists.actions.push_back(action);
        lists.actions.back().kind = ActionKind::kRecompute;
      }
      lists.actions.push_back(action);
    }
    lists.begin.push_back(lists.actions.size());
  }
  return order_actions(program, std::move(lists));
}

}  // namespace

PipelineCsv read_pipeline_csv(std::string_view text, const std::string& file, LegacyCsv legacy) {
  PipelineCsv csv = apply_csv_rules(read_csv_cells(text, file, legacy), file);
  // How many slots there are is not known yet: enough for all stages of a rank.
  Program program = tables_of(csv, file, csv.has_copies ? csv.chunks : 0);
  const std::string problem = order(csv, false, program);
  if (!problem.empty()) {
    throw_bad_input(fmt::format("{}: {}\nhelp: move one of them in its row", file, problem));
  }
  return csv;
}

Schedule schedule_of(const PipelineCsv& csv, std::string name) {
  std::vector<std::vector<ComputeAction>> lists(csv.lists.size());
  for (std::size_t r = 0; r < lists.size(); ++r) {
    lists[r].reserve(csv.lists[r].size());
    for (const Action& action : csv.lists[r]) {
      if (!is_compute(action.kind) || !has_micro_batch(action.kind)) continue;
      lists[r].push_back({action.kind, action.overlaps_next, action.stage, action.micro_batch});
    }
  }
  return schedule_of_lists(std::move(name), csv.micro_batches, csv.rank_of_stage, lists);
}

Program program_of(const PipelineCsv& csv, std::string name, bool recompute, int weight_slots) {
  Program program = tables_of(csv, std::move(name), weight_slots);
  const std::string problem = order(csv, recompute, program);
  if (!problem.empty()) throw_bad_input(program.schedule + ": " + problem);
  return program;
}

}  // namespace penstock
