#include "runtime_bridge/rank_program.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"
#include "tests/runtime_bridge/ring_plans.h"

namespace penstock {
namespace {

using namespace penstock::testing;

// "0F0<-1" needs action 1 of the list, "0SEND_F0>1#4" goes to rank 1 under tag 4, "0B1^" hands on.
std::string text_of(const RankProgram& program) {
  std::string text;
  for (const RankAction& action : program.actions) {
    text += (text.empty() ? "" : " ") + std::to_string(action.stage);
    text += name_of(action.kind);
    if (action.micro_batch != kNone) text += std::to_string(action.micro_batch);
    if (action.peer != kNone) {
      text += ">" + std::to_string(action.peer) + "#" + std::to_string(action.tag);
    }
    if (action.needs != kNone) text += "<-" + std::to_string(action.needs);
    if (action.hands_on) text += "^";
  }
  return text;
}

std::string text_of(const std::vector<CommunicatorSetup>& groups) {
  std::string text;
  for (const CommunicatorSetup& group : groups) {
    text += (text.empty() ? "" : " ") + group.name;
    for (const int member : group.members) text += ":" + std::to_string(member);
  }
  return text;
}

RankProgram program_of(const PlanFile& file, int rank, const TrainingOptions& options = {}) {
  return rank_program(file, ModelDescription{}, options, rank);
}

std::string why_not(const PlanFile& file, const TrainingOptions& options = {},
                    const ModelDescription& model = {}) {
  return tests::message_of([&] { (void)rank_programs(file, model, options); });
}

TEST_CASE("1F1B on two ranks: who sends what to whom, and what each action waits for") {
  // M = 2; a tag is 2 (M stage + micro-batch), of the sending stage, + 1 for a gradient.
  const PlanFile file = tiny_plan();
  const RankProgram first = program_of(file, 0), second = program_of(file, 1);
  CHECK(text_of(first) ==
        "0F0 0SEND_F0>1#0 0F1 0SEND_F1>1#2 0RECV_B0>1#5 0B0<-4 0RECV_B1>1#7 0B1<-6 0NORM 0OPT");
  CHECK(text_of(second) ==
        "1RECV_F0>0#0 1F0<-0 1B0 1SEND_B0>0#5 1RECV_F1>0#2 1F1<-4 1B1 1SEND_B1>0#7 1NORM 1OPT");
  CHECK(text_of(first.communicators) == "job:0:1");
  CHECK(first.job == 0);
  CHECK(first.longest_list == 10);

  const RankSetup& setup = second.setup;
  CHECK(setup.rank == 1);
  CHECK(setup.ranks == 2);
  CHECK(setup.pipeline_rank == 1);
  CHECK(setup.stages.size() == 1);
  CHECK(setup.stages[0] == StageSetup{1, 1, 2, false, true, 1, 0});
  CHECK(setup.micro_batches == std::vector<MicroBatchSetup>{{0, 1}, {1, 1}});
  CHECK(!setup.recompute);
  CHECK(rank_programs(file, ModelDescription{}, {}) == std::vector<RankProgram>{first, second});
}

TEST_CASE("replicas follow each other, or the replicas of a stage do") {
  // Two replicas of two ranks, three samples: replica 0 takes samples 0 and 1, replica 1 sample 2.
  PlanFile file = tiny_plan(two_replicas());
  const RankProgram inner = program_of(file, 3);
  CHECK(text_of(inner) ==
        "1RECV_F0>2#0 1F0<-0 1B0 1SEND_B0>2#3 1TIED_REDUCE 1REDUCE_GRAD 1NORM 1OPT 1UNSHARD");
  CHECK(text_of(inner.communicators) ==
        "job:0:1:2:3 dp.stage1:1:3 tied.embedding.replica1:2:3 dp.stage1.tied:1:3");
  CHECK(inner.pipeline == 1);
  CHECK(inner.setup.replica == 1);
  CHECK(inner.setup.micro_batches == std::vector<MicroBatchSetup>{{2, 1}});
  CHECK(inner.setup.stages[0] == StageSetup{1, 1, 2, false, true, 2, 1});
  CHECK(inner.setup.zero1);
  CHECK(inner.setup.ties == std::vector<TieSetup>{{"embedding", {0, 1}}});
  CHECK(inner.stages[0] == StageGroups{1, 1, kNone, 3, {0}});
  CHECK(inner.ties[0] == TieGroups{2, {1}});
  CHECK(inner.actions[4].tie == 0);

  file.plan.placement = Placement::kDataInner;
  const RankProgram outer = program_of(file, 1);  // replica 1, stage 0
  CHECK(text_of(outer) ==
        "0F0 0SEND_F0>3#0 0RECV_B0>3#3 0B0<-2 0TIED_REDUCE 0REDUCE_GRAD 0NORM 0OPT 0UNSHARD");
  CHECK(text_of(outer.communicators) ==
        "job:0:1:2:3 dp.stage0:0:1 tied.embedding.replica1:1:3 dp.stage0.tied:0:1");
  CHECK(outer.setup.replica == 1);
  CHECK(outer.setup.pipeline_rank == 0);
}

TEST_CASE("stages on one rank hand on, and reduce what they share among themselves") {
  // The V: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2. The ends share weights.
  const PlanFile file = ring_plan(ring_model(4, true), plan_of("zb-v", {2, 2, 1, 1}));
  const RankProgram program = program_of(file, 1);
  CHECK(text_of(program).find("1F0<-0^ 2F0 2SEND_F0>0#4") != std::string::npos);
  CHECK(text_of(program).find("2I0<-") != std::string::npos);
  const RankProgram ends = program_of(file, 0);
  CHECK(ends.ties[0] == TieGroups{kNone, {0, 3}});
  CHECK(ends.ties[1] == TieGroups{1, {0}});  // stage 1 is on rank 1
  CHECK(text_of(ends.communicators) == "job:0:1 tied.front.replica0:0:1");
}

TEST_CASE("two copies of the weights: each rank is a holder of both of its stages") {
  // Chimera, P = 2: stages 0 and 3 on rank 0, 1 and 2 on rank 1; 2 and 3 are copies of 0 and 1.
  const PlanFile file = ring_plan(ring_model(2, true), plan_of("chimera", {2, 2, 2, 2}));
  const RankProgram program = program_of(file, 1);
  CHECK(program.setup.stages ==
        std::vector<StageSetup>{{1, 1, 2, false, true, 4, 1}, {2, 0, 1, true, false, 4, 1}});
  // Copies and replicas reduce weights together; what is tied is summed over the copies first.
  CHECK(text_of(program.communicators) ==
        "job:0:1:2:3 dp.stage0:0:1:2:3 dp.stage1:0:1:2:3 tied.ends.replica0:0:1 "
        "tied.front.replica0:0:1 dp.stage1.tied:1:3 dp.stage2.tied:1:3");
  CHECK(program.stages[1] == StageGroups{1, 1, kNone, 6, {0, 1}});
}

// Four replicas of one rank, shards in groups of two: rank 3 has part 1 of the second group.
TEST_CASE("HSDP: a group that has all shards, and those who have the same one") {
  Plan plan = plan_of("1f1b", {1, 1, 4, 2});
  plan.zero1 = true;
  plan.sharding = Sharding::kFsdp;
  plan.shard_group = 2;
  const RankProgram program = program_of(ring_plan(ring_model(2, false), plan), 3);
  CHECK(text_of(program) == "0F0 0B0 0F1 0B1 0NORM 0OPT");  // the rest within F and B
  CHECK(text_of(program.communicators) ==
        "job:0:1:2:3 dp.stage0:0:1:2:3 dp.stage0.shards1:2:3 dp.stage0.copies1:1:3");
  CHECK(program.stages[0] == StageGroups{1, 2, 3, kNone, {}});
  CHECK(program.setup.by_section == SectionSharding::kWeights);
  CHECK(program.setup.stages[0].shard() == 1);
  CHECK(program.setup.stages[0].shard_group() == 1);
  // A group of one shards nothing.
  plan.shard_group = 1;
  const RankProgram alone = program_of(ring_plan(ring_model(2, false), plan), 3);
  CHECK(text_of(alone) == "0F0 0B0 0F1 0B1 0REDUCE_GRAD 0NORM 0OPT 0UNSHARD");
  CHECK_FALSE(alone.setup.zero1);
  CHECK(text_of(alone.communicators) == "job:0:1:2:3 dp.stage0:0:1:2:3");
}

TEST_CASE("plans that cannot be run are refused with what to do") {
  PlanFile experts = tiny_plan();
  experts.plan.expert = 2;
  CHECK(why_not(experts).find("it divides experts over 2 devices") != std::string::npos);
  CHECK(why_not(tiny_plan()) == "");
  PlanFile file = tiny_plan();
  file.plan.tensor = 2;
  CHECK(why_not(file) ==
        "this plan cannot be run: it divides tensors over 2 devices; plan it with --for penstock");
  file = tiny_plan();
  file.program.micro_batches[1].slice = 1;
  CHECK(why_not(file).find("slices") != std::string::npos);
  file = tiny_plan();
  file.program.actions.back().kind = ActionKind::kStore;
  CHECK(why_not(file).find("STORE is not supported") != std::string::npos);
  file = tiny_plan();
  CHECK_THROWS_AS((void)model_of(file), Error);
  CHECK_THROWS_AS((void)program_of(file, 2), Error);
  file.plan.global_batch = 3;
  CHECK(why_not(file).find("not its share of a batch of 3") != std::string::npos);
}

// The list of rank 0 of the tiny plan, or its end, with other actions.
std::string why_not_with(const Edits& edits) { return why_not(tiny_plan(edits)); }

TEST_CASE("lists that reduce or update too early, twice or not at all are refused") {
  const auto two = [](std::string_view from, std::string_view to) {
    Edits edits = two_replicas();
    edits.emplace_back(from, to);
    return why_not_with(edits);
  };
  const std::string_view tail = R"("0TIED_REDUCE", "0REDUCE_GRAD", "0NORM", "0OPT", "0UNSHARD")";
  // Files in which replicas wait for each other are refused when they are read; this one is made.
  PlanFile early = tiny_plan(two_replicas());
  const auto first = [&early](ActionKind kind) {
    return std::find_if(early.program.actions.begin(), early.program.actions.end(),
                        [kind](const Action& action) { return action.kind == kind; });
  };
  std::swap(*first(ActionKind::kReduceGradient), *first(ActionKind::kNorm));
  CHECK(why_not(early).find("NORM comes before a REDUCE_GRAD") != std::string::npos);
  CHECK(two(tail, R"("0TIED_REDUCE", "0REDUCE_GRAD", "0NORM", "0OPT")")
            .find("stage 0 lacks its UNSHARD") != std::string::npos);
  CHECK(why_not_with({{R"("0NORM", "0OPT")", R"("0NORM")"}}).find("stage 0 lacks its OPT") !=
        std::string::npos);
}

TEST_CASE("without a NORM there is neither clipping nor float16") {
  PlanFile file = tiny_plan();
  auto& actions = file.program.actions;
  std::vector<Action> kept;
  for (const Action& action : actions) {
    if (action.kind != ActionKind::kNorm) kept.push_back(action);
  }
  actions = kept;
  CHECK(why_not(file) == "");
  TrainingOptions clipped;
  clipped.clip_norm = 1.0;
  CHECK(why_not(file, clipped).find("clipped") != std::string::npos);
  ModelDescription half;
  half.precision = Precision::kFloat16;
  CHECK(why_not(file, {}, half).find("float16") != std::string::npos);
}

}  // namespace
}  // namespace penstock
