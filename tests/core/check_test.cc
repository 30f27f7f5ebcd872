#include "core/check/check.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/core/findings_of.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

std::string findings_with(const Edits& edits) { return findings_of(tiny_plan(edits)); }

std::int64_t replayed(const Edits& edits) { return check(tiny_plan(edits)).replayed.count(); }

TEST_CASE("the tiny plan holds") {
  const CheckReport report = check(tiny_plan());
  CHECK(report.findings.empty());
  CHECK(report.replayed == Duration(10110));
  CHECK(report.memory == std::vector<Bytes>{{300}, {231}});
}

TEST_CASE("two replicas with tied weights hold") {
  const CheckReport report = check(tiny_plan(two_replicas()));
  CHECK(report.findings.empty());
  CHECK(report.replayed == Duration(10200));
}

// ---- the replay, worked out on paper -----------------------------------------------------------

// rank 0  |F0 1000|S 1500|F1 2500|S 3000|        |B0 5000..7000|      |B1 8500..10500|
// rank 1                 |F0 1500..2500|B0 4500|S 5000|F1 6000|B1 8000|S 8500|
TEST_CASE("a sender that blocks keeps its compute stream") {
  CHECK(replayed({{R"("async")", R"("sender_blocks")"}}) == 10610);
}

TEST_CASE("a rendezvous whose lists meet in different orders is stuck") {
  const CheckReport report = check(tiny_plan({{R"("async")", R"("rendezvous")"}}));
  REQUIRE(report.findings.size() == 1);
  // Both compute streams up to 2500 ns, then rank 0 waits in 0SEND_F1 and rank 1 in 1SEND_B0.
  CHECK(report.findings[0].message ==
        "10 actions wait for each other under the executor model: 0SEND_F1, 0RECV_B0, 0B0, "
        "0RECV_B1, 0B1, 0NORM, 0OPT, 1SEND_B0, 1RECV_F1, 1F1, 1SEND_B1, 1NORM, ..");
}

constexpr std::string_view kReceiveEarly =
    R"(["1RECV_F0", "1F0", "1RECV_F1", "1B0", "1SEND_B0", "1F1", "1B1", "1SEND_B1"])";

// rank 0  |F0 1000|T 1500|F1 2500|T 3000|         |T 5500|B0 7500|      |T 9000|B1 11000|
// rank 1          |T 1500|F0 2500|T 3000|B0 5000  |T 5500|F1 6500|B1 8500|T 9000|
TEST_CASE("a rendezvous keeps both compute streams") {
  CHECK(replayed({{R"("async")", R"("rendezvous")"}, {kRank1, kReceiveEarly}}) == 11110);
}

// 1RECV_F1 comes after 1B0 on its list: the transfer runs from 4500 to 5000 instead of 2000 to
// 2500, and everything after it comes 500 ns later.
TEST_CASE("a transfer waits until its receive is posted") {
  CHECK(replayed({{R"("receive_must_be_posted": false)", R"("receive_must_be_posted": true)"}}) ==
        10610);
  CHECK(replayed({{R"("receive_must_be_posted": false)", R"("receive_must_be_posted": true)"},
                  {kRank1, kReceiveEarly}}) == 10110);
}

// Activations take 4000 ns: the first from 1000 to 5000, the second from 2000 to 6000 when nothing
// is queued, else from 5000 to 9000. Rank 1: F0 5000..6000, B0 ..8000, then
//   no queue  F1 8000..9000,  B1 ..11000, gradient ..11500, B1 of rank 0 ..13500
//   queue     F1 9000..10000, B1 ..12000, gradient ..12500, B1 of rank 0 ..14500
TEST_CASE("transfers of one direction queue up") {
  const std::pair slow{std::string_view(R"("send_activation_ns": 500)"),
                       std::string_view(R"("send_activation_ns": 4000)")};
  CHECK(replayed({slow}) == 13610);
  CHECK(replayed({slow, {R"("queues": "none")", R"("queues": "per_direction")"}}) == 14610);
}

// 1SEND_B0 is in front of 1RECV_F1 on rank 1, 0SEND_F1 in front of 0RECV_B0 on rank 0.
TEST_CASE("one queue for both directions can be stuck, and need not be") {
  for (const std::string_view queues : {R"("queues": "per_peer")", R"("queues": "per_rank")"}) {
    const CheckReport report = check(tiny_plan({{R"("queues": "none")", queues}}));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].message.find("wait for each other") != std::string::npos);
    CHECK(replayed({{R"("queues": "none")", queues}, {kRank1, kReceiveEarly}}) == 10110);
  }
}

// Every compute action 1 ns longer, every transfer 2 ns: 1F0 1503..2504, 1B0 ..4505, 1F1 ..5506,
// 1B1 ..7507, its gradient ..8009, 0B1 ..10010, NORM ..10020, OPT ..10121; and 7 ns for the step.
TEST_CASE("fixed costs are added") {
  CHECK(replayed({{R"("per_action_ns": 0)", R"("per_action_ns": 1)"},
                  {R"("per_transfer_ns": 0)", R"("per_transfer_ns": 2)"},
                  {R"("per_step_ns": 0)", R"("per_step_ns": 7)"}}) == 10128);
}

// Without NORM rank 1 has its OPT from 7500 to 7600, rank 0 from 10000 to 10100. The longest span
// is rank 0's; rank 1 runs from 1500 to the arrival of its last gradient at 8000.
TEST_CASE("under post-validation the step is the longest span") {
  CHECK(replayed({{R"("global_barrier")", R"("post_validation")"},
                  {R"({"kind": "job", "name": "job", "stages": [0, 1]})", ""},
                  {R"("0NORM", )", ""},
                  {R"("1NORM", )", ""}}) == 10100);
}

// With rank 1: F0 2500, I0 3600 (gradient 4100), F1 4600, W0 5500, I1 6600 (gradient 7100), W1.
// Rank 0: B0 4100..6100, B1 7100..9100, NORM 9110, OPT 9210. At F1 rank 1 holds its stash and what
// W0 needs: 100 + 30.
constexpr std::string_view kSplit =
    R"(["1RECV_F0", "1F0", "1I0", "1SEND_B0", "1RECV_F1", "1F1", "1W0", "1I1", "1SEND_B1", "1W1"])";
TEST_CASE("a gradient leaves after I, and W holds its own stash") {
  const CheckReport report = check(tiny_plan({{kRank1, kSplit}}));
  CHECK(report.replayed == Duration(9210));
  CHECK(report.memory == std::vector<Bytes>{{300}, {261}});
}

// Stage 0 recomputes for 300 ns: R0 5000..5300, B0 ..7300, R1 8000..8300, B1 ..10300.
constexpr std::string_view kRecompute =
    R"(["0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0R0", "0B0", "0RECV_B1", "0R1", "0B1",
        "0NORM", "0OPT"])";
TEST_CASE("a recompute comes before its backward") {
  const Edits edits = {{R"("recompute": "none")", R"("recompute": "full")"},
                       {R"("recompute_ns": 0)", R"("recompute_ns": 300)"},
                       {kRank0, kRecompute}};
  CHECK(replayed(edits) == 10410);
}

// The first backward may just as well wait for both receives: then two are posted at once.
TEST_CASE("a receive holds its buffer until its consumer has run") {
  const CheckReport report = check(tiny_plan(
      {{kRank0, R"(["0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0RECV_B1", "0B0", "0B1",
                    "0NORM", "0OPT"])"}}));
  CHECK(report.memory[0] == Bytes{305});
}

// ---- one corruption for every kind of finding --------------------------------------------------

TEST_CASE("found: a wrong time") {
  CHECK(findings_with({{R"("makespan_ns": 10110)", R"("makespan_ns": 10111)"}}) ==
        "rank 0: busy and idle times in all: expected 10111 ns, the prediction says 10110 ns\n"
        "rank 1: busy and idle times in all: expected 10111 ns, the prediction says 10110 ns\n"
        "/prediction: makespan: expected 10110 ns, the prediction says 10111 ns");
  CHECK(findings_with({{R"("longest_span_ns": 10110)", R"("longest_span_ns": 10109)"}}) ==
        "/prediction: longest span: expected 10110 ns, the prediction says 10109 ns");
  CHECK(findings_with({{R"("ideal_ns": 6100)", R"("ideal_ns": 6000)"}}) ==
        "/prediction: ideal: expected 6100 ns, the prediction says 6000 ns");
  CHECK(findings_with({{R"("step_time_ns": 10110)", R"("step_time_ns": 10120)"}}) ==
        "/prediction: step time: expected 10110 ns, the prediction says 10120 ns");
  PlanFile outside = tiny_plan();  // reading refuses it
  outside.prediction.step_time_low = Duration(10500);
  CHECK(findings_of(outside) == "/prediction: the step time lies outside its own interval");
  CHECK(findings_with(
            {{R"("busy_ns": 6100, "warm_up_ns": 0)", R"("busy_ns": 6101, "warm_up_ns": 0)"}}) ==
        "rank 0: busy: expected 6100 ns, the prediction says 6101 ns\n"
        "rank 0: busy and idle times in all: expected 10110 ns, the prediction says 10111 ns");
}

TEST_CASE("found: a missing W, a second backward") {
  CHECK(
      findings_with({{kRank1, R"(["1RECV_F0", "1F0", "1I0", "1SEND_B0", "1RECV_F1", "1F1", "1W0",
                                    "1I1", "1SEND_B1"])"}}) ==
      "/program/pipelines/0/ranks/1: the backward of 1F1 must be one B, or one I and one W, found "
      "0 B, 1 I, 0 W");
  CHECK(
      findings_with({{R"("1B0", "1SEND_B0")", R"("1B0", "1SEND_B0", "1I0", "1W0")"}})
          .starts_with("/program/pipelines/0/ranks/1: the backward of 1F0 must be one B, or one I "
                       "and one W, found 1 B, 1 I, 1 W\n"));
}

TEST_CASE("found: an action twice") {
  CHECK(findings_with({{R"("0F0", "0SEND_F0")", R"("0F0", "0F0", "0SEND_F0")"}}) ==
        "/program/pipelines/0/ranks/0: 0F0 must occur 1 times, found 2");
  CHECK(findings_with({{R"("0NORM", "0OPT")", R"("0NORM", "0OPT", "0OPT")"}}) ==
        "/program/pipelines/0/ranks/0: 0OPT must occur 1 times, found 2");
}

TEST_CASE("found: a recompute that is missing, or not asked for") {
  CHECK(findings_with({{kRank0, kRecompute}}) ==
        "/program/pipelines/0/ranks/0: 0R0 must occur 0 times, found 1\n"
        "/program/pipelines/0/ranks/0: 0R1 must occur 0 times, found 1");
  CHECK(findings_with({{R"("recompute": "none")", R"("recompute": "full")"},
                       {R"("recompute_ns": 0)", R"("recompute_ns": 300)"}}) ==
        "/program/pipelines/0/ranks/0: 0R0 must occur 1 times, found 0\n"
        "/program/pipelines/0/ranks/0: 0R1 must occur 1 times, found 0");
}

TEST_CASE("found: a send without its receive") {
  CHECK(findings_with({{R"("0RECV_B1", )", ""}}) ==
        "/program/pipelines/0/ranks/0: 0RECV_B1 must occur 1 times, found 0");
  CHECK(findings_with({{R"("0SEND_F1", )", R"("0SEND_F1", "0SEND_F1", )"}}) ==
        "/program/pipelines/0/ranks/0: 0SEND_F1 must occur 1 times, found 2");
}

TEST_CASE("found: a list in an impossible order") {
  // Reading refuses these; a Program in memory may still have them.
  PlanFile file = tiny_plan();
  for (Action& action : file.program.actions) {
    action.waits_for = kWaitsForNothing;
    const bool first_backward = action.stage == StageId{1} &&
                                action.micro_batch == MicroBatchId{0} &&
                                action.kind == ActionKind::kFusedBackward;
    const bool first_forward = action.stage == StageId{1} &&
                               action.micro_batch == MicroBatchId{0} &&
                               action.kind == ActionKind::kForward;
    if (first_backward) action.kind = ActionKind::kForward;
    if (first_forward) action.kind = ActionKind::kFusedBackward;
  }
  CHECK(findings_of(file) == "/program/pipelines/0/ranks/1: 1F0 must come before 1B0");

  file = tiny_plan();
  file.program.actions[1].waits_for = 3;
  CHECK(findings_of(file) == "action 1: 0SEND_F0 comes before what it waits for");
}

TEST_CASE("found: the end of a step in the wrong order") {
  PlanFile file = tiny_plan();
  for (Action& action : file.program.actions) {
    action.waits_for = kWaitsForNothing;
    if (action.stage == StageId{1}) continue;
    const bool norm = action.kind == ActionKind::kNorm;
    if (norm || action.kind == ActionKind::kOptimizer) {
      action.kind = norm ? ActionKind::kOptimizer : ActionKind::kNorm;
      action.group = norm ? kNoGroup : GroupId{0};
    }
  }
  CHECK(findings_of(file) == "/program/pipelines/0/ranks/0: NORM must come before every OPT");

  file = tiny_plan(two_replicas());
  for (Action& action : file.program.actions) {
    action.waits_for = kWaitsForNothing;
    if (action.stage != StageId{0}) continue;
    if (action.kind == ActionKind::kNorm) {
      action.kind = ActionKind::kReduceGradient;
      action.group = GroupId{0};
    } else if (action.kind == ActionKind::kReduceGradient) {
      action.kind = ActionKind::kNorm;
      action.group = GroupId{4};
    }
  }
  CHECK(findings_of(file) == "/program/pipelines/0/ranks/0: 0REDUCE_GRAD must come before NORM");
}

TEST_CASE("found: cuts that leave out or repeat sections") {
  PlanFile file = tiny_plan();
  file.plan.cuts = {0, 1, 3};
  CHECK(findings_of(file) == "/plan/cuts: sections in all stages: expected 2, found 3");
  file.plan.cuts = {1, 1, 2};
  CHECK(findings_of(file) ==
        "/plan/cuts: the first section of stage 0: expected 0, found 1\n"
        "/plan/cuts: stage 0 has no section: from 1 to 1");
  file.plan.cuts = {0, 2};
  CHECK(findings_of(file) == "/plan/cuts: cuts: expected 3, found 2");
  CHECK(findings_with(
            {{R"("sections": ["first", "second"])", R"("sections": ["first", "second", "x"])"}}) ==
        "/plan/cuts: sections in all stages: expected 3, found 2");
}

TEST_CASE("found: samples that do not sum to the batch") {
  CHECK(findings_with({{R"("global_batch": 2)", R"("global_batch": 3)"}}) ==
        "/program/pipelines: samples of all replicas: expected 3, found 2\n"
        "/program/pipelines: samples per replica: expected 1 x 3, found 1 x 2");
  CHECK(findings_with({{R"("replicas": 1)", R"("replicas": 2)"}}) ==
        "/program/pipelines: samples of all replicas: expected 2, found 4\n"
        "/program/pipelines: samples per replica: expected 1 x 2, found 2 x 2");
  CHECK(findings_with(
            {{R"("sequence_length": 0, "shape": 0)", R"("sequence_length": 5, "shape": 0)"}}) ==
        "micro-batch 0: sequence length: expected 0, found 5\n"
        "micro-batch 1: sequence length: expected 0, found 5");
  PlanFile file = tiny_plan();
  file.program.micro_batches[0].samples = 2;
  CHECK(findings_of(file) ==
        "/program/pipelines: samples of all replicas: expected 2, found 3\n"
        "/program/pipelines: samples per replica: expected 1 x 2, found 1 x 3\n"
        "micro-batch 0: samples of shape 0: expected 1, found 2");
}

TEST_CASE("found: a stage on the wrong rank, or out of its chain") {
  PlanFile file = tiny_plan();
  file.program.stages[0].next = kNoStage;
  CHECK(findings_of(file) == "stage 0: next stage: expected 1, found 65535");
  file = tiny_plan();
  file.program.stages[1].rank = RankId{0};
  CHECK(findings_of(file).find("stage 1: rank: expected 1, found 0") != std::string::npos);
  file = tiny_plan();
  file.program.stages[1].rank = RankId{2};
  CHECK(findings_of(file) == "stage 1: its rank or its pipeline does not exist");
}

TEST_CASE("found: prices or tables of another size") {
  PlanFile file = tiny_plan();
  file.prices.step.pop_back();
  CHECK(findings_of(file) == "/prices: stages with prices of a step: expected 2, found 1");
  file = tiny_plan();
  file.prediction.ranks.pop_back();
  CHECK(findings_of(file) == "/prediction/ranks: ranks: expected 2, found 1");
  file = tiny_plan();
  file.program.micro_batches.pop_back();
  CHECK(findings_of(file) == "/program: entries in the micro-batch table: expected 2, found 1");
  file = tiny_plan();
  file.plan.pipeline = 0;
  CHECK(findings_of(file) == "/plan: degrees, micro-batch size and batch must all be at least 1");
  file = tiny_plan();
  file.program.pipelines.clear();
  CHECK(findings_of(file).find("/program: there is no pipeline") != std::string::npos);
}

TEST_CASE("found: actions of stages, micro-batches and groups that do not exist") {
  PlanFile file = tiny_plan();
  file.program.actions[0].stage = StageId{7};
  CHECK(findings_of(file) == "action 0: its stage does not exist");
  file = tiny_plan();
  file.program.actions[0].micro_batch = MicroBatchId{7};
  CHECK(findings_of(file) == "action 0: its micro-batch is not one of its pipeline");
  file = tiny_plan();
  file.program.actions[0].micro_batch = kNoMicroBatch;
  CHECK(findings_of(file) == "action 0: it must have a micro-batch exactly when its kind does");
  file = tiny_plan();
  file.program.actions[0].group = GroupId{0};
  CHECK(findings_of(file) == "action 0: 0F0 is in a group");
  file = tiny_plan();
  file.program.groups[0].kind = GroupKind::kDataParallel;
  CHECK(findings_of(file).find("1NORM belongs to 'job', a group of another kind") !=
        std::string::npos);
}

TEST_CASE("found: groups that are not complete") {
  PlanFile file = tiny_plan();
  file.program.groups[0].members = 3;
  CHECK(findings_of(file) == "group 'job' of NORM: expected 3 members, found 2 on 2 stages");
  file = tiny_plan(two_replicas());
  std::erase_if(file.program.actions, [](const Action& action) {
    return action.kind == ActionKind::kReduceGradient && action.stage == StageId{3};
  });
  for (Action& action : file.program.actions) action.waits_for = kWaitsForNothing;
  CHECK(findings_of(file) ==
        "/program/pipelines/1/ranks/1: 3REDUCE_GRAD must occur 1 times, found 0\n"
        "group 'dp.stage1' of REDUCE_GRAD: expected 2 members, found 1 on 1 stages\n"
        "group 'dp.stage1' of REDUCE_GRAD: it does not join one stage of all pipelines");
  file = tiny_plan(two_replicas());
  file.program.groups[2].name = "tied.head";
  CHECK(findings_of(file) == "group 'tied.head' of TIED_REDUCE: there is no tie of this name");
}

TEST_CASE("found: a step without norm, optimizer or gather") {
  PlanFile file = tiny_plan(two_replicas());
  file.executor.optimizer = OptimizerGate::kPostValidation;
  CHECK(findings_of(file) ==
        "/program/pipelines/0/ranks/0: NORM must occur 0 times, found 1\n"
        "/program/pipelines/0/ranks/1: NORM must occur 0 times, found 1\n"
        "/program/pipelines/1/ranks/0: NORM must occur 0 times, found 1\n"
        "/program/pipelines/1/ranks/1: NORM must occur 0 times, found 1");
  file = tiny_plan(two_replicas());
  file.plan.zero1 = false;
  CHECK(findings_of(file).starts_with(
      "/program/pipelines/0/ranks/0: 0UNSHARD must occur 0 times, found 1\n"));
  CHECK(findings_with({{R"("0NORM", "0OPT")", R"("0NORM")"}}) ==
        "/program/pipelines/0/ranks/0: 0OPT must occur 1 times, found 0");
  CHECK(findings_with({{R"("0NORM", "0OPT")", R"("0NORM", "0OPT", "0RESHARD")"}}) ==
        "/program/pipelines/0/ranks/0: 0RESHARD has no price in this format");
}

TEST_CASE("found: boundaries and a device that are not those of the plan") {
  CHECK(findings_with({{R"("boundary_level": [0])", R"("boundary_level": [-1])"}}) ==
        "/cluster/boundary_level: level -1 does not join the ranks of the stages");
  CHECK(findings_with({{R"("zero1": false, "placement": "pipeline_inner", "device": "toy")",
                        R"("zero1": false, "placement": "pipeline_inner", "device": "b")"}}) ==
        "/cluster/device: 'toy', but the plan is for 'b'");
}

// Two samples of 1e6 in 10,110 ns are 1.978e11 FLOP/s, on two devices: 98.9 % of a peak of 1e11
// each, 100.9 % of 9.8e10. 6 per parameter may count more than is multiplied.
TEST_CASE("found: a step that is faster than the devices compute") {
  const auto with_peak = [](const std::string& peak, const std::string& convention) {
    return R"("flops": {"per_sample": 1e6, "convention": ")" + convention +
           R"(", "peaks": [{"device": "toy", "flops_per_s": )" + peak + R"(}]}, "prices": {)";
  };
  const auto found = [&](const std::string& peak, const std::string& convention) {
    const std::string text = with_peak(peak, convention);
    return findings_with({{R"("prices": {)", text}});
  };
  CHECK(found("1e11", "megatron_lm").empty());
  CHECK(found("9.8e10", "megatron_lm") ==
        "/flops: the step would be an MFU of 101 %; no device computes faster than its peak");
  CHECK(found("9.8e10", "6_per_parameter").empty());
}

TEST_CASE("a file that is wrong throughout answers with a hundred findings") {
  PlanFile file = tiny_plan();
  for (int i = 0; i < 200; ++i) file.plan.cuts.push_back(2);
  const std::vector<Finding> findings = check(file).findings;
  REQUIRE(findings.size() == 101);
  CHECK(findings.back() == Finding{"/", "101 more findings"});
}

}  // namespace
}  // namespace penstock
