// Plan files of stages that are not laid out in a loop, with actions that overlap.
#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/four_stage_plans.h"

namespace penstock {
namespace {

std::string refusal_with(const FourStages& plan, const Edits& edits) {
  try {
    (void)four_stages(plan, edits);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    const std::string message = error.what();
    return message.substr(message.find(": ") + 2);
  }
  return "";
}

std::string order_of(const Program& program, std::size_t actions) {
  std::string names;
  for (std::size_t i = 0; i < actions; ++i) {
    names += (i > 0 ? " " : "") + name_of(program, program.actions[i]);
  }
  return names;
}

TEST_CASE("two copies of the weights are read as they say") {
  const PlanFile file = four_stages(kTwoCopies);
  CHECK(file.plan.stage_map == StageMap::kBidirectional);
  CHECK(file.plan.copies() == 2);
  CHECK(file.plan.stages() == 4);
  CHECK(file.plan.stages_per_copy() == 2);
  CHECK(file.plan.weight_copies() == 2);
  CHECK(file.plan.stages_of_rank(0) == std::vector{0, 3});
  CHECK(file.plan.stages_of_rank(1) == std::vector{1, 2});
  CHECK(file.plan.first_section(3) == 1);
  CHECK(file.plan.end_section(2) == 1);
  CHECK(file.prices.compute_of(0, 0).overlap_gain == Duration(400));
  CHECK(file.program.pipelines[0].copies == 2);
  CHECK(file.program.groups[2].members == 4);
}

// One line per round of the ranks.
TEST_CASE("the members of a pair follow each other, and wait as they would alone") {
  const Program program = four_stages(kTwoCopies).program;
  CHECK(order_of(program, 16) ==
        "0F0 2F2 "
        "0SEND_F0 2SEND_F2 3RECV_F2 "
        "3F2 1RECV_F0 "
        "0F1 3B2 1F0 "
        "0SEND_F1 2F3 1B0 "
        "3SEND_B2 2SEND_F3 3RECV_F3");
  const Action &forward = program.actions[7], &backward = program.actions[8];
  CHECK(forward.overlaps_next);
  CHECK(forward.waits_for == kWaitsForNothing);
  CHECK(!backward.overlaps_next);
  CHECK(backward.waits_for == 5);  // 3F2
}

TEST_CASE("the turn of a V is waited for directly") {
  const Program program = four_stages(kV).program;
  for (const Action& action : program.actions) {
    const std::string name = name_of(program, action);
    const auto waits_for = [&] { return name_of(program, program.actions[action.waits_for]); };
    if (name == "2F0") CHECK(waits_for() == "1F0");
    if (name == "1B0") CHECK(waits_for() == "2B0");
    if (name == "3F0") CHECK(waits_for() == "3RECV_F0");
  }
}

TEST_CASE("writing what was read gives the same plan") {
  for (const FourStages& plan : {kTwoCopies, kV}) {
    const PlanFile file = four_stages(plan);
    const std::string once = to_text(write_plan(file));
    CHECK(plan_of(once) == file);
    CHECK(to_text(write_plan(plan_of(once))) == once);
  }
}

// Four micro-batches per copy: three rounds of one pair each.
TEST_CASE("pairs in a block repeat and advance") {
  FourStages longer = kTwoCopies;
  longer.micro_batches = "8";
  longer.rank_0 = R"(["0F0", "0SEND_F0", "3RECV_F4", "3F4"],
      {"repeat": 3, "advance": 1, "actions":
        ["(0F1;3B4)OVERLAP_F_B", "0SEND_F1", "3SEND_B4", "3RECV_F5", "3F5"]},
      ["3B7", "3SEND_B7"], {"repeat": 4, "advance": 1, "actions": ["0RECV_B0", "0B0"]},
      ["0TIED_REDUCE", "3TIED_REDUCE", "0REDUCE_GRAD", "3REDUCE_GRAD", "0NORM", "0OPT", "3OPT",
       "0UNSHARD", "3UNSHARD"])";
  longer.rank_1 = R"(["2F4", "2SEND_F4", "1RECV_F0", "1F0"],
      {"repeat": 3, "advance": 1, "actions":
        ["(2F5;1B0)OVERLAP_F_B", "2SEND_F5", "1SEND_B0", "1RECV_F1", "1F1"]},
      ["1B3", "1SEND_B3"], {"repeat": 4, "advance": 1, "actions": ["2RECV_B4", "2B4"]},
      ["1TIED_REDUCE", "2TIED_REDUCE", "2REDUCE_GRAD", "1REDUCE_GRAD", "1NORM", "1OPT", "2OPT",
       "2UNSHARD", "1UNSHARD"])";
  const PlanFile file = four_stages(longer);
  std::string pairs;
  for (std::size_t i = 0; i < file.program.actions.size(); ++i) {
    if (!file.program.actions[i].overlaps_next) continue;
    pairs += name_of(file.program, file.program.actions[i]) + ";" +
             name_of(file.program, file.program.actions[i + 1]) + " ";
  }
  CHECK(pairs == "0F1;3B4 2F5;1B0 0F2;3B5 2F6;1B1 0F3;3B6 2F7;1B2 ");
  const std::string text = to_text(write_plan(file));
  CHECK(text.find("(0F1;3B4)OVERLAP_F_B") != std::string::npos);
  CHECK(text.find("(0F2;3B5)") == std::string::npos);  // in the block
  CHECK(plan_of(text) == file);
}

TEST_CASE("refused: a stage map that the degrees or the cuts do not fit") {
  CHECK(refusal_with(kV, {{R"("chunks": 2)", R"("chunks": 3)"}}) ==
        "/plan/chunks: expected 2, as the stage map 'v' has it, got 3");
  CHECK(refusal_with(kV, {{R"("stage_map": "v")", R"("stage_map": "w")"}}) ==
        "/plan/stage_map: expected one of loop, v, bidirectional, got \"w\"");
  CHECK(refusal_with(kV, {{R"("stage_map": "v")", R"("stage_map": "bidirectional")"}}) ==
        "/plan/cuts: expected 3 cuts, one more than stages in each copy of the weights, got 5");
  CHECK(refusal_with(kV, {{R"("stage_map": "v")", R"("stage_map": "loop")"}}) ==
        "/stages/2/rank: expected 0, as 'plan' says (change its cuts, not this), got 1");
}

TEST_CASE("refused: copies that do not share equally, or are not those of the plan") {
  CHECK(refusal_with(kTwoCopies, {{R"("copies": 2)", R"("copies": 3)"}}) ==
        "/program/pipelines/0/copies: expected an integer from 1 to 2, got 3");
  CHECK(refusal_with(kTwoCopies, {{R"("count": 4)", R"("count": 5)"}}) ==
        "/program/pipelines/0/copies: 2 copies of the weights cannot share 4 stages and 5 "
        "micro-batches equally");
  CHECK(refusal_with(kV, {{R"("copies": 1)", R"("copies": 2)"}, {R"("count": 1)", R"("count": 2)"}})
            .starts_with("/program/pipelines/0"));
  CHECK(refusal_with(kTwoCopies, {{R"("copies": 2)", R"("copies": 1)"}}) ==
        "/program: every pipeline must have the 2 ranks and 4 stages of 'plan', in 2 copies of the "
        "weights");
}

TEST_CASE("refused: micro-batches of the other copy, and pairs of actions that are elsewhere") {
  CHECK(refusal_with(kTwoCopies, {{R"("0F0")", R"("0F2")"}}) ==
        "/program/pipelines/0/ranks/0/0/0: 0F2: the micro-batches of this copy of the weights are "
        "0 to 1");
  CHECK(refusal_with(kTwoCopies, {{"(0F1;3B2)", "(0F1;3B1)"}}) ==
        "/program/pipelines/0/ranks/0/0/4: 3B1: the micro-batches of this copy of the weights are "
        "2 to 3");
  CHECK(refusal_with(kTwoCopies, {{"(0F1;3B2)", "(0F1;1B0)"}}) ==
        "/program/pipelines/0/ranks/0/0/4: 1B0 is in the list of rank 0, but its stage is on rank "
        "1");
  CHECK(refusal_with(kTwoCopies, {{"(0F1;3B2)", "(3B2;0F1)"}}) ==
        "/program/pipelines/0/ranks/0/0/4: expected the name of an action, such as 0F3 or "
        "1REDUCE_GRAD");
}

// The forward of the pair could run, but its backward waits for what comes later on the same list.
TEST_CASE("refused: a pair whose backward comes after itself") {
  CHECK(refusal_with(kTwoCopies,
                     {{R"("3F2", "(0F1;3B2)OVERLAP_F_B",)", R"("(0F1;3B2)OVERLAP_F_B", "3F2",)"}})
            .starts_with("/program/pipelines: the lists wait for each other: 3B2 waits for 3F2"));
}

TEST_CASE("a pair that is none cannot be written") {
  PlanFile file = four_stages(kTwoCopies);
  file.program.actions[8].overlaps_next = true;  // the backward
  CHECK_THROWS_WITH_AS((void)write_plan(file),
                       "this program cannot be written: no backward follows 3B2, to overlap",
                       Error);
}

}  // namespace
}  // namespace penstock
