// Lists of actions are folded into blocks that repeat with growing micro-batches
// (program_blocks.h), so that a file does not grow with the batch. What follows from kinds and
// tables, such as waits and pairs, is not written; require_pairs() and GroupsOfStages make sure
// that the reader will find the same. Where it would not, the file is refused here and not later.
#include <algorithm>
#include <set>
#include <utility>

#include "core/files/groups_of_stages.h"
#include "core/files/listed_waits.h"
#include "core/files/program_blocks.h"
#include "core/files/program_file.h"
#include "core/values/error.h"
#include "core/values/plan_file.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

// A steady state of the schedules repeats after at most one round of P * V micro-batches, each with
// compute and transfers of forward and backward. Longer patterns are written out.
constexpr std::size_t kPeriodPerStage = 24;

std::vector<std::vector<StageId>> stages_of_groups(const Program& program) {
  std::vector<std::set<StageId>> stages(program.groups.size());
  for (const Action& action : program.actions) {
    if (action.group != kNoGroup) stages.at(action.group.value).insert(action.stage);
  }
  std::vector<std::vector<StageId>> sorted;
  sorted.reserve(stages.size());
  for (const auto& of_group : stages) sorted.emplace_back(of_group.begin(), of_group.end());
  return sorted;
}

[[noreturn]] void cannot_write(const std::string& what) {
  throw Error(ErrorKind::kInternal, "this program cannot be written: " + what);
}

void require_pairs(const Program& program) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    if (!action.overlaps_next) continue;
    const bool is_pair = action.kind == ActionKind::kForward && i + 1 < program.actions.size() &&
                         program.actions[i + 1].kind == ActionKind::kFusedBackward &&
                         program.rank_of(program.actions[i + 1]) == program.rank_of(action);
    if (!is_pair) cannot_write("no backward follows " + name_of(program, action) + ", to overlap");
  }
}

// What is not written must follow from what is: see GroupsOfStages.
void require_conventions(const Program& program,
                         const std::vector<std::vector<StageId>>& stages_of_group) {
  if (program.actions.size() > kMostActions) {
    cannot_write("it has more than " + std::to_string(kMostActions) + " actions");
  }
  for (std::size_t g = 0; g < stages_of_group.size(); ++g) {
    if (program.groups[g].members != stages_of_group[g].size()) {
      cannot_write("group '" + program.groups[g].name + "' does not have as many members as " +
                   "stages that take part");
    }
  }
  require_pairs(program);
  const GroupsOfStages groups(program, stages_of_group);
  std::vector<std::size_t> seen(program.stages.size() * kActionKinds, 0);
  for (const Action& action : program.actions) {
    if (action.group == kNoGroup && !is_collective(action.kind)) continue;
    std::size_t& earlier = seen[std::size_t{action.stage.value} * kActionKinds +
                                static_cast<std::size_t>(action.kind)];
    if (groups.find(action.kind, action.stage, earlier++) != action.group) {
      cannot_write("the group of " + name_of(program, action) + " does not follow from its stage");
    }
  }
}

Json write_groups(const Program& program,
                  const std::vector<std::vector<StageId>>& stages_of_group) {
  Json groups = Json::array();
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    Json stages = Json::array();
    for (const StageId stage : stages_of_group[g]) stages.push(int{stage.value});
    Json group = Json::object();
    group.set("kind", word_of(kGroupWords, program.groups[g].kind));
    group.set("name", program.groups[g].name);
    group.set("stages", std::move(stages));
    groups.push(std::move(group));
  }
  return groups;
}

Json write_stages(const Program& program, const Pipeline& pipeline) {
  Json stages = Json::array();
  for (int s = pipeline.first_stage; s < pipeline.first_stage + pipeline.stages; ++s) {
    const Stage& stage = program.stages[static_cast<std::size_t>(s)];
    Json json = Json::object();
    json.set("rank", stage.rank.value);
    if (stage.previous != kNoStage) json.set("previous", int{stage.previous.value});
    if (stage.next != kNoStage) json.set("next", int{stage.next.value});
    json.set("weight_set", stage.weight_set);
    json.set("task", stage.task);
    stages.push(std::move(json));
  }
  return stages;
}

Json write_micro_batches(const Program& program, const Pipeline& pipeline) {
  Json micro_batches = Json::array();
  const auto first = program.micro_batches.begin() + pipeline.first_micro_batch;
  const auto last = first + pipeline.micro_batches;
  for (auto at = first; at != last;) {
    const auto other = std::find_if(at, last, [&](const MicroBatch& m) { return m != *at; });
    Json json = Json::object();
    json.set("count", std::int64_t{other - at});
    json.set("samples", at->samples);
    json.set("sequence_length", at->sequence_length);
    json.set("shape", at->shape);
    json.set("slice", at->slice);
    micro_batches.push(std::move(json));
    at = other;
  }
  return micro_batches;
}

Json write_block(const Block& block) {
  Json names = Json::array();
  for (const ListedAction& action : block.actions) names.push(name_of(action));
  if (block.repeat == 1) return names;
  Json json = Json::object();
  json.set("repeat", std::int64_t{block.repeat});
  json.set("advance", block.advance);
  json.set("actions", std::move(names));
  return json;
}

std::vector<std::vector<ListedAction>> lists_of_ranks(const Program& program) {
  std::vector<std::vector<ListedAction>> lists(static_cast<std::size_t>(program.ranks()));
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    const Stage& stage = program.stages[action.stage.value];
    const Pipeline& pipeline = program.pipelines[static_cast<std::size_t>(stage.pipeline)];
    ListedAction listed{kNoMicroBatch.value, action.stage.value, action.kind};
    if (action.micro_batch != kNoMicroBatch) {
      listed.micro_batch = action.micro_batch.value - pipeline.first_micro_batch;
    }
    if (action.overlaps_next) {
      const Action& backward = program.actions[++i];
      listed.backward_stage = backward.stage.value;
      listed.backward = backward.micro_batch.value - pipeline.first_micro_batch;
    }
    lists[static_cast<std::size_t>(stage.rank.value)].push_back(listed);
  }
  return lists;
}

}  // namespace

Json write_program(const Program& program) {
  const std::vector<std::vector<StageId>> stages_of_group = stages_of_groups(program);
  require_conventions(program, stages_of_group);
  const std::vector<std::vector<ListedAction>> lists = lists_of_ranks(program);
  Json pipelines = Json::array();
  for (const Pipeline& pipeline : program.pipelines) {
    const std::size_t longest_period = kPeriodPerStage * static_cast<std::size_t>(pipeline.stages);
    Json ranks = Json::array();
    for (int r = pipeline.first_rank; r < pipeline.first_rank + pipeline.ranks; ++r) {
      Json blocks = Json::array();
      for (const Block& block : compress(lists[static_cast<std::size_t>(r)], longest_period)) {
        blocks.push(write_block(block));
      }
      ranks.push(std::move(blocks));
    }
    Json json = Json::object();
    json.set("replicas", pipeline.replicas);
    json.set("copies", pipeline.copies);
    if (pipeline.weight_slots > 0) json.set("weight_slots", pipeline.weight_slots);
    json.set("stages", write_stages(program, pipeline));
    json.set("micro_batches", write_micro_batches(program, pipeline));
    json.set("ranks", std::move(ranks));
    pipelines.push(std::move(json));
  }
  Json json = Json::object();
  json.set("schedule", program.schedule);
  json.set("rule", word_of(kRuleWords, program.rule));
  json.set("groups", write_groups(program, stages_of_group));
  json.set("pipelines", std::move(pipelines));
  if (Json waits = write_listed_waits(program); !waits.elements().empty()) {
    json.set("waits", std::move(waits));
  }
  return json;
}

}  // namespace penstock
