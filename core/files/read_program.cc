// Reads groups and stages, then micro-batches, then lists, each against what was read before, and
// multiplies blocks and runs of micro-batches out only at the end, when the size of the whole is
// known: a small file must not ask for large tables. Lists are read without a reader object per
// element, since they may hold millions. Invariant: after reading, ids are in range, chains of
// stages agree from both sides, and order_actions() has found an order in which the lists can run.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/files/groups_of_stages.h"
#include "core/files/listed_waits.h"
#include "core/files/order_actions.h"
#include "core/files/program_blocks.h"
#include "core/files/program_file.h"
#include "core/files/read_values.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostMicroBatches = kNoMicroBatch.value - 1;
constexpr int kMostSlots = 128;  // of the largest sizes that a file may hold, without overflow
constexpr int kMostCopies = copies_of(StageMap::kBidirectional);

StageId read_stage_id(const JsonReader& reader, std::size_t stages) {
  return StageId{static_cast<std::uint16_t>(read_int(reader, 0, static_cast<int>(stages) - 1))};
}

// A run of equal micro-batches. They are not multiplied before the lists are known to use them.
struct MicroBatches {
  std::int64_t count = 0;
  MicroBatch each;
};

MicroBatches read_micro_batches(JsonReader reader, ProgramForm form) {
  MicroBatches run;
  run.count = reader.at("count").integer(1, kMostMicroBatches);
  run.each.samples = read_int(reader.at("samples"), 1);
  run.each.sequence_length = read_int(reader.at("sequence_length"), 0);
  run.each.shape = read_int(reader.at("shape"), 0);
  run.each.slice = read_int(reader.at("slice"), 0);
  if (form == ProgramForm::kWithLossWeights) {
    static_cast<void>(
        reader.at("loss_weight").integer(0, std::numeric_limits<std::int64_t>::max()));
  }
  reader.finish();
  return run;
}

// Reads everything in the order of dependence: groups and stages, then micro-batches, then lists.
class ProgramReader {
 public:
  ProgramReader(JsonReader reader, std::uint64_t most_actions, ProgramForm form)
      : reader_(std::move(reader)),
        pipelines_(reader_.at("pipelines")),
        most_actions_(most_actions),
        form_(form) {}

  Program read() {
    program_.schedule = reader_.at("schedule").string();
    program_.rule = read_word(reader_.at("rule"), kRuleWords);
    std::vector<JsonReader> pipelines = pipelines_.elements();
    if (pipelines.empty()) pipelines_.expected("at least one pipeline");
    for (JsonReader& pipeline : pipelines) read_tables(pipeline);
    for (std::size_t s = 0; s < program_.stages.size(); ++s) require_chain(pipelines, s);
    const std::vector<std::vector<StageId>> stages_of_group = read_groups(reader_.at("groups"));
    for (std::size_t p = 0; p < pipelines.size(); ++p) {
      read_blocks(pipelines[p], static_cast<int>(p));
      pipelines[p].finish();
    }
    const std::optional<JsonReader> waits = reader_.get("waits");
    reader_.finish();
    order(GroupsOfStages(program_, stages_of_group), waits);
    require_members(stages_of_group);
    return std::move(program_);
  }

 private:
  void read_tables(JsonReader& reader) {
    Pipeline pipeline;
    pipeline.first_rank = program_.ranks();
    pipeline.first_stage = static_cast<int>(program_.stages.size());
    pipeline.replicas = read_int(reader.at("replicas"), 1);
    const std::vector<JsonReader> stages = reader.at("stages").elements();
    if (stages.empty()) reader.at("stages").expected("at least one stage");
    if (program_.stages.size() + stages.size() > kNoStage.value) {
      reader.at("stages").fail("a program has at most 65535 stages");
    }
    pipeline.stages = static_cast<int>(stages.size());
    pipeline.ranks = static_cast<int>(reader.at("ranks").elements().size());
    if (pipeline.ranks == 0) reader.at("ranks").expected("at least one rank");
    for (JsonReader stage : stages) program_.stages.push_back(read_stage(stage, pipeline));
    read_micro_batch_runs(reader.at("micro_batches"), pipeline);
    read_copies(reader.at("copies"), pipeline);
    if (const auto slots = reader.get("weight_slots")) {
      pipeline.weight_slots = read_int(*slots, 1, kMostSlots);
    }
    program_.pipelines.push_back(pipeline);
  }

  static void read_copies(const JsonReader& reader, Pipeline& pipeline) {
    pipeline.copies = read_int(reader, 1, kMostCopies);
    const auto copies = static_cast<std::uint32_t>(pipeline.copies);
    if (pipeline.stages % pipeline.copies == 0 && pipeline.micro_batches % copies == 0) return;
    reader.fail(std::to_string(copies) + " copies of the weights cannot share " +
                std::to_string(pipeline.stages) + " stages and " +
                std::to_string(pipeline.micro_batches) + " micro-batches equally");
  }

  [[nodiscard]] Stage read_stage(JsonReader& reader, const Pipeline& pipeline) const {
    Stage stage;
    stage.pipeline = static_cast<int>(program_.pipelines.size());
    const int last_rank = pipeline.first_rank + pipeline.ranks - 1;
    stage.rank = RankId{read_int(reader.at("rank"), pipeline.first_rank, last_rank)};
    stage.previous = read_neighbour(reader.get("previous"), pipeline);
    stage.next = read_neighbour(reader.get("next"), pipeline);
    stage.weight_set = read_int(reader.at("weight_set"), 0);
    stage.task = read_int(reader.at("task"), 0);
    reader.finish();
    return stage;
  }

  static StageId read_neighbour(const std::optional<JsonReader>& reader, const Pipeline& pipeline) {
    if (!reader) return kNoStage;
    const int last = pipeline.first_stage + pipeline.stages - 1;
    return StageId{static_cast<std::uint16_t>(read_int(*reader, pipeline.first_stage, last))};
  }

  // A stage's neighbours must name it in turn: what waits for what would depend on the side.
  void require_chain(const std::vector<JsonReader>& pipelines, std::size_t s) const {
    const Stage& stage = program_.stages[s];
    const StageId self{static_cast<std::uint16_t>(s)};
    const bool previous_agrees =
        stage.previous == kNoStage || program_.stages[stage.previous.value].next == self;
    const bool next_agrees =
        stage.next == kNoStage || program_.stages[stage.next.value].previous == self;
    if (previous_agrees && next_agrees) return;
    pipelines[static_cast<std::size_t>(stage.pipeline)].fail(
        "stage " + std::to_string(s) + " and its neighbours do not name each other");
  }

  void read_micro_batch_runs(const JsonReader& reader, Pipeline& pipeline) {
    std::vector<MicroBatches>& runs = micro_batches_.emplace_back();
    std::int64_t total = 0;
    for (const JsonReader& run : reader.elements()) {
      runs.push_back(read_micro_batches(run, form_));
      total += runs.back().count;
      if (total > kMostMicroBatches - micro_batches_before_) {
        run.fail("a program has at most " + std::to_string(kMostMicroBatches) + " micro-batches");
      }
    }
    if (runs.empty()) reader.expected("at least one micro-batch");
    pipeline.first_micro_batch = static_cast<std::uint32_t>(micro_batches_before_);
    pipeline.micro_batches = static_cast<std::uint32_t>(total);
    micro_batches_before_ += total;
  }

  std::vector<std::vector<StageId>> read_groups(const JsonReader& reader) {
    std::vector<std::vector<StageId>> stages_of_group;
    for (JsonReader group : reader.elements()) {
      std::vector<StageId>& stages = stages_of_group.emplace_back();
      for (const JsonReader& stage : group.at("stages").elements()) {
        stages.push_back(read_stage_id(stage, program_.stages.size()));
        const auto ascending = stages.size() < 2 || stages[stages.size() - 2] < stages.back();
        if (!ascending) stage.expected("stages in ascending order");
      }
      if (stages.empty()) group.at("stages").expected("at least one stage");
      program_.groups.push_back({read_word(group.at("kind"), kGroupWords),
                                 group.at("name").string(),
                                 static_cast<std::uint32_t>(stages.size())});
      group.finish();
    }
    return stages_of_group;
  }

  void read_blocks(JsonReader& reader, int pipeline_index) {
    const Pipeline& pipeline = program_.pipelines[static_cast<std::size_t>(pipeline_index)];
    const std::uint64_t before = total_actions_;
    const std::vector<JsonReader> ranks = reader.at("ranks").elements();
    for (int r = 0; r < pipeline.ranks; ++r) {
      std::vector<Block>& blocks = blocks_.emplace_back();
      for (const JsonReader& block : ranks[static_cast<std::size_t>(r)].elements()) {
        blocks.push_back(read_block(block, pipeline, pipeline.first_rank + r));
        total_actions_ += std::uint64_t{blocks.back().repeat} * actions_in(blocks.back());
        if (total_actions_ > most_actions_) {
          block.fail("a program has at most " + std::to_string(most_actions_) +
                     " actions; here it has " + std::to_string(total_actions_));
        }
      }
    }
    // Tables of (stage, micro-batch) are about to be made: a small file must not ask for large
    // ones.
    const int stages_per_copy = pipeline.stages / pipeline.copies;
    const auto forwards = static_cast<std::uint64_t>(stages_per_copy) * pipeline.micro_batches;
    if (total_actions_ - before < forwards) {
      reader.fail("fewer actions (" + std::to_string(total_actions_ - before) + ") than " +
                  std::to_string(stages_per_copy) + " stages have forwards of " +
                  std::to_string(pipeline.micro_batches) + " micro-batches");
    }
  }

  static std::uint64_t actions_in(const Block& block) {
    const auto pairs = std::count_if(block.actions.begin(), block.actions.end(),
                                     [](const ListedAction& action) { return action.is_pair(); });
    return block.actions.size() + static_cast<std::uint64_t>(pairs);
  }

  Block read_block(JsonReader reader, const Pipeline& pipeline, int rank) const {
    Block block;
    if (reader.value().kind() == Json::Kind::kArray) {
      block.actions = read_names(reader, block, pipeline, rank);
      return block;
    }
    const auto most = static_cast<std::int64_t>(most_actions_);
    block.repeat = static_cast<std::uint32_t>(reader.at("repeat").integer(1, most));
    block.advance = reader.at("advance").integer(-kMostMicroBatches, kMostMicroBatches);
    block.actions = read_names(reader.at("actions"), block, pipeline, rank);
    reader.finish();
    return block;
  }

  // Without a reader for every name: a list may hold millions.
  std::vector<ListedAction> read_names(const JsonReader& reader, const Block& block,
                                       const Pipeline& pipeline, int rank) const {
    if (reader.value().kind() != Json::Kind::kArray || reader.value().elements().empty()) {
      reader.expected(
          "an array of at least one action, or an object with repeat, advance, actions");
    }
    std::vector<ListedAction> actions;
    actions.reserve(reader.value().elements().size());
    for (const Json& name : reader.value().elements()) {
      const std::optional<ListedAction> action =
          name.kind() == Json::Kind::kString ? action_named(name.text()) : std::nullopt;
      std::string problem = action ? why_not(action->first(), block, pipeline, rank)
                                   : "expected the name of an action, such as 0F3 or 1REDUCE_GRAD";
      if (problem.empty() && action->is_pair()) {
        problem = why_not(action->second(), block, pipeline, rank);
      }
      if (!problem.empty()) reader.elements()[actions.size()].fail(problem);
      actions.push_back(*action);
    }
    return actions;
  }

  // Why an action cannot stand in a list; empty when it can.
  [[nodiscard]] std::string why_not(const ListedAction& action, const Block& block,
                                    const Pipeline& pipeline, int rank) const {
    const int last_stage = pipeline.first_stage + pipeline.stages - 1;
    if (action.stage < pipeline.first_stage || action.stage > last_stage) {
      return name_of(action) + ": the stages of this pipeline are " +
             std::to_string(pipeline.first_stage) + " to " + std::to_string(last_stage);
    }
    const int home = program_.stages[action.stage].rank.value;
    if (home != rank) {
      return name_of(action) + " is in the list of rank " + std::to_string(rank) +
             ", but its stage is on rank " + std::to_string(home);
    }
    if (!has_micro_batch(action.kind)) return {};
    const std::int64_t first = action.micro_batch;
    const std::int64_t last = first + (std::int64_t{block.repeat} - 1) * block.advance;
    const std::int64_t share = pipeline.micro_batches / static_cast<std::uint32_t>(pipeline.copies);
    const int copy = (action.stage - pipeline.first_stage) / (pipeline.stages / pipeline.copies);
    const std::int64_t least = copy * share, most = least + share - 1;
    if (std::min(first, last) >= least && std::max(first, last) <= most) return {};
    const std::string reach =
        last == first ? "" : " and its repetitions to " + std::to_string(last);
    return name_of(action) + reach + ": the micro-batches of this " +
           (pipeline.copies > 1 ? "copy of the weights" : "pipeline") + " are " +
           std::to_string(least) + " to " + std::to_string(most);
  }

  // All ids are known to be good: multiplies out micro-batches and blocks.
  void order(const GroupsOfStages& groups, const std::optional<JsonReader>& waits) {
    for (const std::vector<MicroBatches>& runs : micro_batches_) {
      for (const MicroBatches& run : runs) {
        program_.micro_batches.insert(program_.micro_batches.end(),
                                      static_cast<std::size_t>(run.count), run.each);
      }
    }
    ActionLists lists;
    lists.begin.push_back(0);
    lists.actions.reserve(total_actions_);
    std::vector<std::size_t> seen(program_.stages.size() * kActionKinds, 0);
    for (const std::vector<Block>& blocks : blocks_) {
      std::vector<ListedAction> list;
      for (const Block& block : blocks) expand(block, list);
      for (const ListedAction& listed : list) {
        lists.actions.push_back(placed(listed.first(), groups, seen));
        if (!listed.is_pair()) continue;
        lists.actions.back().overlaps_next = true;
        lists.actions.push_back(placed(listed.second(), groups, seen));
      }
      lists.begin.push_back(lists.actions.size());
    }
    if (waits) read_listed_waits(*waits, program_, lists);
    const std::string problem = order_actions(program_, std::move(lists));
    if (!problem.empty()) pipelines_.fail(problem);
  }

  Action placed(const ListedAction& listed, const GroupsOfStages& groups,
                std::vector<std::size_t>& seen) const {
    Action action;
    action.kind = listed.kind;
    action.stage = StageId{listed.stage};
    const Stage& stage = program_.stages[listed.stage];
    const Pipeline& pipeline = program_.pipelines[static_cast<std::size_t>(stage.pipeline)];
    if (has_micro_batch(listed.kind)) {
      action.micro_batch = MicroBatchId{pipeline.first_micro_batch + listed.micro_batch};
    }
    if (!is_collective(listed.kind)) return action;
    std::size_t& earlier =
        seen[std::size_t{listed.stage} * kActionKinds + static_cast<std::size_t>(listed.kind)];
    action.group = groups.find(action.kind, action.stage, earlier++);
    if (action.group == kNoGroup) {
      pipelines_.fail(name_of(listed) + " belongs to no group; add its stage to one in 'groups'");
    }
    return action;
  }

  // Who only seems to take part would be missing when the Program is written again.
  void require_members(const std::vector<std::vector<StageId>>& stages_of_group) {
    std::vector<std::set<StageId>> acting(stages_of_group.size());
    for (const Action& action : program_.actions) {
      if (action.group != kNoGroup) acting[action.group.value].insert(action.stage);
    }
    for (std::size_t g = 0; g < stages_of_group.size(); ++g) {
      for (std::size_t k = 0; k < stages_of_group[g].size(); ++k) {
        if (acting[g].contains(stages_of_group[g][k])) continue;
        JsonReader group = reader_.at("groups").elements()[g];
        group.at("stages").elements()[k].fail(
            "no list holds a collective of this stage and group; remove the stage from the group, "
            "or the group");
      }
    }
  }

  JsonReader reader_, pipelines_;
  std::uint64_t most_actions_;
  ProgramForm form_;
  Program program_;
  std::vector<std::vector<MicroBatches>> micro_batches_;  // [pipeline]
  std::int64_t micro_batches_before_ = 0;
  std::vector<std::vector<Block>> blocks_;  // [rank]
  std::uint64_t total_actions_ = 0;
};

}  // namespace

Program read_program(JsonReader reader, std::uint64_t most_actions, ProgramForm form) {
  return ProgramReader(std::move(reader), most_actions, form).read();
}

// A weight that is not the samples stays, for the reader to complain of.
Json without_loss_weights(const Json& program) {
  if (program.kind() == Json::Kind::kArray) {
    Json result = Json::array();
    for (const Json& element : program.elements()) result.push(without_loss_weights(element));
    return result;
  }
  if (program.kind() != Json::Kind::kObject) return program;
  const Json* samples = program.find("samples");
  Json result = Json::object();
  for (const auto& [key, value] : program.members()) {
    if (key == "loss_weight" && samples != nullptr && value == *samples) continue;
    result.set(key, without_loss_weights(value));
  }
  return result;
}

}  // namespace penstock
