#include "simulator/lower.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/schedules/schedules.h"
#include "tests/core/messages.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::input_of;
using testing::lowered;
using testing::Random;
using testing::random_program;
using testing::text_of;

Program lower_one(std::string_view schedule, const ScheduleShape& shape,
                  const LoweringOptions& options) {
  return lower({input_of(make_schedule(schedule, shape))}, options);
}

// A step of several replicas up to the optimizer.
LoweringOptions whole_step() {
  LoweringOptions options;
  options.step_actions = true;
  options.reduce_gradients = true;
  return options;
}

TEST_CASE("1F1B on two ranks lowers to PyTorch's lists") {
  const Program program = lower_one("1f1b", {2, 1, 3, 0}, whole_step());
  CHECK(text_of(program, 0) ==
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0F2 0SEND_F2 0RECV_B1 0B1 0RECV_B2 0B2 "
        "0REDUCE_GRAD 0NORM 0OPT");
  CHECK(text_of(program, 1) ==
        "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1RECV_F2 1B1 1SEND_B1 1F2 1B2 1SEND_B2 "
        "1REDUCE_GRAD 1NORM 1OPT");
  CHECK(program.schedule == "1f1b");
  REQUIRE(program.groups.size() == 3);
  CHECK(program.groups[0] == Group{GroupKind::kDataParallel, "dp.stage0", 1});
  CHECK(program.groups[1] == Group{GroupKind::kDataParallel, "dp.stage1", 1});
  CHECK(program.groups[2] == Group{GroupKind::kJob, "job", 2});
}

TEST_CASE("a receive sits where the sender produced it") {
  const Program program = lowered("interleaved", {4, 2, 8, 0});
  const std::string rank0 = text_of(program, 0);
  CHECK(rank0.substr(0, 49) == "0F0 0SEND_F0 4RECV_F0 0F1 0SEND_F1 4RECV_F1 0F2 0");
}

TEST_CASE("post-validation has no norm, and ZeRO-1 gathers after the optimizer") {
  LoweringOptions options = whole_step();
  options.optimizer = OptimizerGate::kPostValidation;
  options.unshard = true;
  const Program program = lower_one("gpipe", {2, 1, 1, 0}, options);
  CHECK(text_of(program, 0) == "0F0 0SEND_F0 0RECV_B0 0B0 0REDUCE_GRAD 0OPT 0UNSHARD");
  CHECK(text_of(program, 1) == "1RECV_F0 1F0 1B0 1SEND_B0 1REDUCE_GRAD 1OPT 1UNSHARD");
}

TEST_CASE("a chunk's gradients are reduced as soon as they are complete") {
  const Program program = lower_one("looped-bfs", {1, 2, 2, 0}, whole_step());
  CHECK(text_of(program, 0) ==
        "0F0 0F1 1F0 1F1 1B1 1B0 1REDUCE_GRAD 0B1 0B0 0REDUCE_GRAD 0NORM 0OPT 1OPT");
}

TEST_CASE("a split backward reduces after the last weight gradient") {
  const Program program = lower_one("zb-h1", {2, 1, 2, 0}, whole_step());
  CHECK(text_of(program, 0) ==
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0I0 0W0 0RECV_B1 0I1 0W1 0REDUCE_GRAD 0NORM 0OPT");
  CHECK(text_of(program, 1) ==
        "1RECV_F0 1F0 1RECV_F1 1I0 1SEND_B0 1F1 1I1 1SEND_B1 1W0 1W1 1REDUCE_GRAD 1NORM 1OPT");
}

TEST_CASE("without step actions a Program holds compute and transfers only") {
  LoweringOptions options = whole_step();
  options.step_actions = false;
  options.unshard = true;
  options.tied = {{"embedding", {0, 1}}};
  const Program program = lower_one("1f1b", {2, 1, 3, 0}, options);
  CHECK(program == lowered("1f1b", {2, 1, 3, 0}));
  CHECK(program.groups.empty());
}

TEST_CASE("without transfers a forward waits for the forward before it") {
  LoweringOptions options;
  options.transfers = false;
  const Program program = lower_one("1f1b", {2, 1, 2, 0}, options);
  CHECK(text_of(program, 0) == "0F0 0F1 0B0 0B1");
  CHECK(text_of(program, 1) == "1F0 1B0 1F1 1B1");
  std::vector<std::string> waits;
  for (const Action& action : program.actions) {
    waits.push_back(name_of(program, action) + " " +
                    (action.waits_for == kWaitsForNothing
                         ? "-"
                         : name_of(program, program.actions[action.waits_for])));
  }
  std::sort(waits.begin(), waits.end());
  CHECK(waits == std::vector<std::string>{"0B0 1B0", "0B1 1B1", "0F0 -", "0F1 -", "1B0 -", "1B1 -",
                                          "1F0 0F0", "1F1 0F1"});
}

TEST_CASE("with recomputation a forward is repeated right before its backward") {
  LoweringOptions options;
  options.recompute = true;
  CHECK(text_of(lower_one("1f1b", {2, 1, 2, 0}, options), 0) ==
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0R0 0B0 0RECV_B1 0R1 0B1");
  CHECK(text_of(lower_one("1f1b", {2, 1, 2, 0}, options), 1) ==
        "1RECV_F0 1F0 1RECV_F1 1R0 1B0 1SEND_B0 1F1 1R1 1B1 1SEND_B1");
  CHECK(text_of(lower_one("zb-h1", {1, 1, 2, 0}, options), 0) == "0F0 0R0 0I0 0W0 0F1 0R1 0I1 0W1");
}

// TrainSchedule (deepspeed/runtime/pipe/schedule.py) on two stages: slots of rank 0 F0 - F1 B0 F2
// B1 - B2, of rank 1
// - F0 B0 F1 B1 F2 B2 -. In a backward slot SendActivation of the slot before follows RecvGrad; in
// a forward slot SendGrad of the slot before precedes RecvActivation.
TEST_CASE("DeepSpeed sends in the next slot") {
  LoweringOptions options = whole_step();
  options.issue = IssueOrder::kDeepSpeed;
  const Program program = lower_one("1f1b", {2, 1, 3, 0}, options);
  CHECK(text_of(program, 0) ==
        "0F0 0SEND_F0 0F1 0RECV_B0 0SEND_F1 0B0 0F2 0RECV_B1 0SEND_F2 0B1 0RECV_B2 0B2 "
        "0REDUCE_GRAD 0NORM 0OPT");
  CHECK(text_of(program, 1) ==
        "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1 1RECV_F2 1F2 1B2 1SEND_B2 "
        "1REDUCE_GRAD 1NORM 1OPT");
}

// TrainSchedule in words: rank r has a forward slot where the slot's number and r are both even or
// both odd, else a backward slot; F(m) sits in slot 2m + r and B(m) in slot 2m + 2P - 1 - r.
std::string deepspeed_list(int ranks, int micro_batches, int rank) {
  std::string text;
  const auto add = [&](const char* kind, int m) {
    text += (text.empty() ? "" : " ") + std::to_string(rank) + kind + std::to_string(m);
  };
  const auto valid = [&](int m) { return m >= 0 && m < micro_batches; };
  int previous = -1;
  for (int slot = 0; slot < 2 * (micro_batches + ranks - 1); ++slot) {
    const bool forward = slot % 2 == rank % 2;
    const int shifted = slot - (forward ? rank : 2 * ranks - 1 - rank);
    const int m = shifted < 0 ? -1 : shifted / 2;
    if (forward && rank > 0) {
      if (valid(previous)) add("SEND_B", previous);
      if (valid(m)) add("RECV_F", m);
    }
    if (!forward && rank + 1 < ranks) {
      if (valid(m)) add("RECV_B", m);
      if (valid(previous)) add("SEND_F", previous);
    }
    if (valid(m)) add(forward ? "F" : "B", m);
    previous = m;
  }
  return text;
}

TEST_CASE("1F1B in DeepSpeed's order is DeepSpeed's TrainSchedule") {
  LoweringOptions options;
  options.issue = IssueOrder::kDeepSpeed;
  for (int p = 1; p <= 5; ++p) {
    for (int m = 1; m <= 9; ++m) {
      const Program program = lower_one("1f1b", {p, 1, m, 0}, options);
      for (int rank = 0; rank < p; ++rank) {
        CHECK(text_of(program, rank) == deepspeed_list(p, m, rank));
      }
    }
  }
}

// Every action after what it waits for; receives name their sends; collectives complete.
void check_invariants(const Program& program) {
  std::vector<std::vector<std::uint32_t>> members(program.groups.size() *
                                                  static_cast<std::size_t>(kActionKinds));
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    REQUIRE(action.stage.value < program.stages.size());
    if (action.waits_for != kWaitsForNothing) REQUIRE(action.waits_for < i);
    if (is_receive(action.kind)) {
      const Action& send = program.actions.at(action.waits_for);
      REQUIRE(is_send(send.kind));
      REQUIRE(send.micro_batch == action.micro_batch);
      REQUIRE(program.rank_of(send) != program.rank_of(action));
      const Stage& stage = program.stages[action.stage.value];
      REQUIRE(send.stage ==
              (action.kind == ActionKind::kReceiveActivation ? stage.previous : stage.next));
    }
    REQUIRE((action.micro_batch != kNoMicroBatch) == has_micro_batch(action.kind));
    REQUIRE((action.group != kNoGroup) == is_collective(action.kind));
    if (is_collective(action.kind)) {
      members
          .at(action.group.value * static_cast<std::size_t>(kActionKinds) +
              static_cast<std::size_t>(action.kind))
          .push_back(i);
    }
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k].empty()) continue;
    REQUIRE(members[k].size() == program.groups[k / kActionKinds].members);
  }
}

TEST_CASE("random Programs keep the invariants of a Program") {
  Random random(1);
  for (int i = 0; i < testing::draws(1500); ++i) check_invariants(random_program(random).program);
}

TEST_CASE("random Programs in DeepSpeed's order keep the invariants of a Program") {
  Random random(2);
  for (int i = 0; i < testing::draws(1500); ++i) {
    check_invariants(random_program(random, {false, IssueOrder::kDeepSpeed}).program);
  }
}

// Slots of rank 0 are F0 - - B0 (M = 1, P = 2), so the send does not wait for RECV_B0, whose
// gradient needs it.
TEST_CASE("DeepSpeed sends in an idle slot when there is one") {
  LoweringOptions options;
  options.issue = IssueOrder::kDeepSpeed;
  CHECK(text_of(lower_one("1f1b", {2, 1, 1, 0}, options), 0) == "0F0 0SEND_F0 0RECV_B0 0B0");
  CHECK(text_of(lower_one("gpipe", {2, 1, 2, 0}, options), 0) ==
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1");
}

TEST_CASE("lowering changes neither the lists nor their order") {
  Random random(3);
  for (int i = 0; i < testing::draws(500); ++i) {
    const Schedule schedule = testing::random_schedule(random, 5, 9);
    for (const IssueOrder issue : {IssueOrder::kEager, IssueOrder::kDeepSpeed}) {
      LoweringOptions options = whole_step();
      options.issue = issue;
      const Program program = lower({input_of(schedule)}, options);
      std::vector<std::vector<ComputeAction>> lists(static_cast<std::size_t>(schedule.ranks));
      for (const Action& action : program.actions) {
        if (!is_compute(action.kind) || action.kind == ActionKind::kOptimizer) continue;
        lists[static_cast<std::size_t>(program.rank_of(action).value)].push_back(
            {action.kind, action.overlaps_next, action.stage, action.micro_batch});
      }
      for (int rank = 0; rank < schedule.ranks; ++rank) {
        std::vector<ComputeAction> expected = schedule.list(rank);
        if (issue == IssueOrder::kDeepSpeed) {  // runs one action at a time
          for (ComputeAction& action : expected) action.overlaps_next = false;
        }
        CHECK(lists[static_cast<std::size_t>(rank)] == expected);
      }
    }
  }
}

// Seven and six micro-batches: a global batch of thirteen on two replicas.
TEST_CASE("two pipelines are joined by their reductions and the norm") {
  const Program program = lower({input_of(make_schedule("1f1b", {2, 1, 7, 0})),
                                 input_of(make_schedule("1f1b", {2, 1, 6, 0}))},
                                whole_step());
  CHECK(program.ranks() == 4);
  REQUIRE(program.pipelines.size() == 2);
  CHECK(program.pipelines[0] == Pipeline{0, 2, 0, 2, 0, 7, 1});
  CHECK(program.pipelines[1] == Pipeline{2, 2, 2, 2, 7, 6, 1});
  REQUIRE(program.stages.size() == 4);
  CHECK(program.stages[2] == Stage{RankId{2}, kNoStage, StageId{3}, 0, 0, 1});
  CHECK(program.stages[3] == Stage{RankId{3}, StageId{2}, kNoStage, 1, 0, 1});
  REQUIRE(program.groups.size() == 3);
  CHECK(program.groups[1] == Group{GroupKind::kDataParallel, "dp.stage1", 2});
  CHECK(program.groups[2] == Group{GroupKind::kJob, "job", 4});
  std::vector<int> reducing_stages;
  for (const Action& action : program.actions) {
    if (action.group == GroupId{1}) reducing_stages.push_back(action.stage.value);
  }
  CHECK(reducing_stages == std::vector<int>{1, 3});
  // Micro-batches are named from the start of their pipeline.
  const std::string rank3 = text_of(program, 3);
  CHECK(rank3.substr(0, 22) == "3RECV_F0 3F0 3RECV_F1 ");
  CHECK(rank3.substr(rank3.size() - 40) == "3F5 3B5 3SEND_B5 3REDUCE_GRAD 3NORM 3OPT");
  check_invariants(program);
}

TEST_CASE("tied stages reduce together first, then over the replicas") {
  LoweringOptions options = whole_step();
  options.tied = {{"embedding", {0, 2}}};
  const Program program = lower_one("gpipe", {3, 1, 1, 0}, options);
  CHECK(text_of(program, 0) == "0F0 0SEND_F0 0RECV_B0 0B0 0TIED_REDUCE 0REDUCE_GRAD 0NORM 0OPT");
  CHECK(text_of(program, 1) ==
        "1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 1SEND_B0 1REDUCE_GRAD 1NORM 1OPT");
  CHECK(text_of(program, 2) == "2RECV_F0 2F0 2B0 2SEND_B0 2TIED_REDUCE 2REDUCE_GRAD 2NORM 2OPT");
  REQUIRE(program.groups.size() == 5);
  CHECK(program.groups[3] == Group{GroupKind::kTiedWeights, "tied.embedding", 2});
}

Schedule by_hand(int ranks, const std::vector<std::vector<ComputeAction>>& lists) {
  std::vector<int> rank_of_stage;
  for (int s = 0; s < ranks; ++s) rank_of_stage.push_back(s);
  int micro_batches = 1;
  for (const auto& list : lists) {
    for (const ComputeAction& action : list) {
      micro_batches = std::max(micro_batches, static_cast<int>(action.micro_batch.value) + 1);
    }
  }
  return schedule_of_lists("by-hand", micro_batches, rank_of_stage, lists);
}
ComputeAction forward(std::uint16_t stage, std::uint32_t m) {
  return {ActionKind::kForward, false, StageId{stage}, MicroBatchId{m}};
}
ComputeAction backward(std::uint16_t stage, std::uint32_t m) {
  return {ActionKind::kFusedBackward, false, StageId{stage}, MicroBatchId{m}};
}

std::string stall(const Schedule& schedule, IssueOrder issue = IssueOrder::kEager) {
  LoweringOptions options;
  options.issue = issue;
  return tests::refusal_of([&] { static_cast<void>(lower({input_of(schedule)}, options)); });
}

TEST_CASE("lists that wait for each other are refused with the actions that wait") {
  // Rank 0 wants the gradient of micro-batch 0 before it sends micro-batch 1, which rank 1 wants
  // before it runs the backward of micro-batch 0.
  const Schedule schedule =
      by_hand(2, {{forward(0, 0), backward(0, 0), forward(0, 1), backward(0, 1)},
                  {forward(1, 0), forward(1, 1), backward(1, 0), backward(1, 1)}});
  CHECK(stall(schedule) ==
        "by-hand: the lists cannot be executed: 0B0 on rank 0 waits for stage 1; 1F1 on rank 1 "
        "waits for stage 0; nothing can run");
  CHECK(stall(schedule, IssueOrder::kDeepSpeed) ==
        "by-hand: the lists cannot be executed: 0RECV_B0 on rank 0 waits for stage 1; 1RECV_F1 "
        "on rank 1 waits for stage 0; nothing can run");
}

TEST_CASE("a backward before its own forward is refused") {
  const Schedule schedule = by_hand(1, {{backward(0, 0), forward(0, 0)}});
  const std::string message =
      "by-hand: the lists cannot be executed: 0B0 on rank 0 waits for stage 0; nothing can run";
  CHECK(stall(schedule) == message);
  CHECK(stall(schedule, IssueOrder::kDeepSpeed) == message);
}

TEST_CASE("a forward that no rank produces is refused") {
  const Schedule schedule = by_hand(2, {{}, {forward(1, 0)}});
  CHECK(stall(schedule) ==
        "by-hand: the lists cannot be executed: 1F0 on rank 1 waits for stage 0; nothing can "
        "run");
}

TEST_CASE("more stages than ids exist are refused") {
  const PipelineInput input = input_of(make_schedule("gpipe", {40'000, 1, 1, 0}));
  CHECK_THROWS_WITH_AS(
      lower({input, input}, {}),
      "gpipe: 2 distinct pipelines of 40000 stages; at most 65534 stages are supported in all",
      Error);
}

}  // namespace
}  // namespace penstock
