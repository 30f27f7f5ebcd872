// The checker on stages that are not laid out in a loop, and on actions that overlap.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "tests/core/findings_of.h"
#include "tests/core/four_stage_plans.h"

namespace penstock {
namespace {

std::string findings_with(const FourStages& plan, const Edits& edits) {
  return findings_of(four_stages(plan, edits));
}

// Index of an action by its name.
std::size_t find(const Program& program, std::string_view name) {
  const auto found = std::find_if(program.actions.begin(), program.actions.end(),
                                  [&](const Action& a) { return name_of(program, a) == name; });
  REQUIRE(found != program.actions.end());
  return static_cast<std::size_t>(found - program.actions.begin());
}

constexpr std::string_view kGain = R"("overlap_gain_ns": 400)";
std::int64_t replayed_with_gain(std::string_view gain) {
  return check(
             four_stages(kTwoCopies, {{kGain, gain}, {kGain, gain}, {kGain, gain}, {kGain, gain}}))
      .replayed.count();
}

TEST_CASE("two copies of the weights with overlaps hold") {
  const CheckReport report = check(four_stages(kTwoCopies));
  CHECK(report.findings.empty());
  CHECK(report.replayed == Duration(13470));
  CHECK(report.memory == std::vector<Bytes>{{481}, {481}});
}

TEST_CASE("a V holds") {
  const CheckReport report = check(four_stages(kV));
  CHECK(report.findings.empty());
  CHECK(report.replayed == Duration(14210));
  CHECK(report.memory == std::vector<Bytes>{{374}, {374}});
}

// The pair is the one thing on the way that changes: 2,600 ns with a gain of 400 ns.
TEST_CASE("a pair takes both times less the gain, and no less than either") {
  CHECK(replayed_with_gain(R"("overlap_gain_ns": 0)") == 13470 + 400);
  CHECK(replayed_with_gain(R"("overlap_gain_ns": 1000)") == 13470 - 600);
  CHECK(replayed_with_gain(R"("overlap_gain_ns": 3000)") == 13470 - 600);
}

// 1 ns for each of the compute actions on the way: 0F0, 3F2, 0F1 and 3B2 of the pair, 3F3, 0B0,
// 3B3, 0B1, and the two OPT.
TEST_CASE("fixed costs are those of both members") {
  CHECK(check(four_stages(kTwoCopies, {{R"("per_action_ns": 0)", R"("per_action_ns": 1)"}}))
            .replayed.count() == 13470 + 10);
}

// ---- one corruption for every kind of finding --------------------------------------------------

TEST_CASE("found: stages that are not on the ranks of the map") {
  PlanFile file = four_stages(kTwoCopies);
  file.program.stages[2].rank = RankId{0};
  CHECK(findings_of(file).starts_with("stage 2: rank: expected 1, found 0\n"));
  file = four_stages(kV);
  std::swap(file.program.stages[2].rank, file.program.stages[3].rank);
  CHECK(findings_of(file).ends_with(
      "stage 2: rank: expected 1, found 0\nstage 3: rank: expected 0, found 1"));
  file = four_stages(kV);
  file.plan.stage_map = StageMap::kBidirectional;
  CHECK(findings_of(file) ==
        "/program/pipelines/0: copies of the weights: expected 2, found 1\n"
        "/program/pipelines/0: 1 micro-batches are not shared equally by 2 copies of the weights");
  file.plan.chunks = 4;
  CHECK(findings_of(file) == "/plan/chunks: the stage map needs 2 stages per rank");
}

TEST_CASE("found: a chain that runs on into the other copy") {
  PlanFile file = four_stages(kTwoCopies);
  file.program.stages[1].next = StageId{2};
  file.program.stages[2].previous = StageId{1};
  CHECK(findings_of(file) ==
        "stage 1: next stage: expected 65535, found 2\n"
        "stage 2: previous stage: expected 65535, found 1");
}

TEST_CASE("found: copies that are none") {
  PlanFile file = four_stages(kTwoCopies);
  file.program.stages[2].weight_set = 2;
  CHECK(findings_of(file) == "stage 2: weight set: expected 0, found 2");
  file = four_stages(kTwoCopies);
  file.program.pipelines[0].copies = 1;
  CHECK(findings_of(file) == "/program/pipelines/0: copies of the weights: expected 2, found 1");
  file = four_stages(kTwoCopies);
  file.plan.cuts = {0, 1, 2, 2, 2};
  CHECK(findings_of(file).starts_with("/plan/cuts: cuts: expected 3, found 5\n"));
}

TEST_CASE("found: a micro-batch that the other copy takes") {
  PlanFile file = four_stages(kTwoCopies);
  file.program.actions[0].micro_batch = MicroBatchId{2};
  CHECK(findings_of(file) == "action 0: 0F2: another copy of the weights takes this micro-batch");
  file = four_stages(kTwoCopies);
  file.program.pipelines[0].micro_batches = 3;
  file.program.micro_batches.pop_back();
  CHECK(findings_of(file) ==
        "/program/pipelines/0: 3 micro-batches are not shared equally by 2 copies of the weights");
}

TEST_CASE("found: gradients that are not reduced over the copies") {
  PlanFile file = four_stages(kTwoCopies);
  for (Action& action : file.program.actions) action.waits_for = kWaitsForNothing;
  file.program.actions.erase(file.program.actions.begin() +
                             static_cast<std::ptrdiff_t>(find(file.program, "2REDUCE_GRAD")));
  CHECK(findings_of(file) ==
        "/program/pipelines/0/ranks/1: 2REDUCE_GRAD must occur 1 times, found 0\n"
        "group 'dp.stage0' of REDUCE_GRAD: expected 2 members, found 1 on 1 stages\n"
        "group 'dp.stage0' of REDUCE_GRAD: it does not join one stage of all pipelines");
  file = four_stages(kTwoCopies);
  std::swap(file.program.actions[find(file.program, "2REDUCE_GRAD")].group,
            file.program.actions[find(file.program, "3REDUCE_GRAD")].group);
  CHECK(findings_of(file) ==
        "group 'dp.stage0' of REDUCE_GRAD: it does not join one stage of all pipelines\n"
        "group 'dp.stage1' of REDUCE_GRAD: it does not join one stage of all pipelines");
  file = four_stages(kTwoCopies);
  file.ties[0].stages = {0, 1};
  const std::string findings = findings_of(file);
  CHECK(findings.find("/ties/0: expected the same stages of every copy of the weights") !=
        std::string::npos);
}

TEST_CASE("found: a pair that is none") {
  const PlanFile file = four_stages(kTwoCopies);
  const std::size_t pair = find(file.program, "0F1");
  const auto broken = [&](auto change) {
    PlanFile copy = file;
    for (Action& action : copy.program.actions) action.waits_for = kWaitsForNothing;
    change(copy.program);
    return findings_of(copy);
  };
  const std::string finding =
      "action " + std::to_string(pair) + ": 0F1 overlaps no other backward of its rank";
  // Its backward comes later, is of another rank, its own, or starts a pair itself.
  CHECK(broken([&](Program& p) { std::swap(p.actions[pair + 1], p.actions[pair + 2]); }) ==
        finding);
  CHECK(broken([&](Program& p) {
          p.actions[pair + 1].stage = StageId{1};
          p.actions[pair + 1].micro_batch = MicroBatchId{0};
        }) == finding);
  CHECK(broken([&](Program& p) {
          p.actions[pair + 1].stage = StageId{0};
          p.actions[pair + 1].micro_batch = MicroBatchId{1};
        }) == finding);
  CHECK(broken([&](Program& p) {
          p.actions[pair + 1].overlaps_next = true;
        }).starts_with(finding + "\n"));
  CHECK(broken([&](Program& p) { p.rule = RunTimeRule::kVaruna; })
            .starts_with("action " + std::to_string(pair) +
                         ": 0F1 overlaps, but a run-time rule moves single actions\n"));
  CHECK(broken([&](Program& p) {
          p.actions.back().overlaps_next = true;
        }).ends_with(" overlaps no other backward of its rank"));
}

TEST_CASE("found: a pair that runs one after the other") {
  // 0F1 2.5..3.5, its activation at 4; 3B2 ..5.5, its gradient at 6; 3F3 5.5..6.5, 0B0 ..8.5, 3B3
  // ..10.5, its gradient at 11; 0B1 ..13: 100 ns earlier, for 400 ns more of work.
  CHECK(findings_with(kTwoCopies, {{R"("(0F1;3B2)OVERLAP_F_B")", R"("0F1", "3B2")"},
                                   {R"("(2F3;1B0)OVERLAP_F_B")", R"("2F3", "1B0")"}})
            .ends_with("/prediction: step time: expected 13370 ns, the prediction says 13470 ns"));
}

TEST_CASE("found: weights, working peaks or time counted once") {
  CHECK(findings_with(kTwoCopies, {{R"("parameters_bytes": 30)", R"("parameters_bytes": 10)"}}) ==
        "rank 0: parameters: expected 30 bytes, the prediction says 10");
  CHECK(
      findings_with(kTwoCopies, {{R"("working_peak_bytes": 15)", R"("working_peak_bytes": 8)"}}) ==
      "rank 0: working peak: expected 15 bytes, the prediction says 8");
  CHECK(findings_with(kTwoCopies, {{R"("ideal_ns": 11800)", R"("ideal_ns": 14400)"}}) ==
        "/prediction: ideal: expected 11800 ns, the prediction says 14400 ns");
}

TEST_CASE("found: a link where nothing is sent, and a transfer") {
  for (const FourStages& plan : {kTwoCopies, kV}) {
    CHECK(findings_with(plan, {{"[0, -1, 0]", "[0, 0, 0]"}}) ==
          "/cluster/boundary_level: level 0 does not join the ranks of the stages");
    CHECK(findings_with(plan, {{"[0, -1, 0]", "[-1, -1, 0]"}}) ==
          "/cluster/boundary_level: level -1 does not join the ranks of the stages");
  }
  CHECK(findings_with(kV, {{R"("2F0",)", R"("1SEND_F0", "2RECV_F0", "2F0",)"}}) ==
        "/program/pipelines/0/ranks/1: 1SEND_F0 must occur 0 times, found 1\n"
        "/program/pipelines/0/ranks/1: 2RECV_F0 must occur 0 times, found 1");
}

}  // namespace
}  // namespace penstock
