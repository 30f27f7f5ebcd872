// The order of a read Program over all its ranks, and what its actions wait for.
#include <string>

#include <doctest/doctest.h>

#include "core/values/plan_file.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

std::string order_of(const Program& program) {
  std::string names;
  for (const Action& action : program.actions) {
    names += (names.empty() ? "" : " ") + name_of(program, action);
  }
  return names;
}

// "1F0 <- 1RECV_F0" for every action that waits for another.
std::string waits_of(const Program& program) {
  std::string text;
  for (const Action& action : program.actions) {
    if (action.waits_for == kWaitsForNothing) continue;
    text += (text.empty() ? "" : ", ") + name_of(program, action) + " <- " +
            name_of(program, program.actions[action.waits_for]);
  }
  return text;
}

TEST_CASE("the order over all ranks goes round after round") {
  const Program program = tiny_plan().program;
  // One line per round: rank 0, then rank 1; a send takes its receive along when that is next.
  CHECK(order_of(program) ==
        "0F0 "
        "0SEND_F0 1RECV_F0 1F0 "
        "0F1 1B0 "
        "0SEND_F1 1SEND_B0 0RECV_B0 "
        "0B0 1RECV_F1 "
        "1F1 "
        "1B1 "
        "1SEND_B1 0RECV_B1 "
        "0B1 1NORM "
        "0NORM 1OPT "
        "0OPT");
  CHECK(waits_of(program) ==
        "0SEND_F0 <- 0F0, 1RECV_F0 <- 0SEND_F0, 1F0 <- 1RECV_F0, 1B0 <- 1F0, 0SEND_F1 <- 0F1, "
        "1SEND_B0 <- 1B0, 0RECV_B0 <- 1SEND_B0, 0B0 <- 0RECV_B0, 1RECV_F1 <- 0SEND_F1, "
        "1F1 <- 1RECV_F1, 1B1 <- 1F1, 1SEND_B1 <- 1B1, 0RECV_B1 <- 1SEND_B1, 0B1 <- 0RECV_B1, "
        "1NORM <- 1B1, 0NORM <- 0B1, 1OPT <- 1NORM, 0OPT <- 0NORM");
}

TEST_CASE("I, W and R wait for what they need") {
  const Program program =
      tiny_plan({{kRank0, R"(["0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0R0", "0B0",
                              "0RECV_B1", "0R1", "0B1", "0NORM", "0OPT"])"},
                 {kRank1, R"(["1RECV_F0", "1F0", "1I0", "1SEND_B0", "1RECV_F1", "1F1", "1W0", "1I1",
                              "1SEND_B1", "1W1"])"}})
          .program;
  const std::string waits = waits_of(program);
  for (const char* wait : {"1I0 <- 1F0", "1W0 <- 1I0", "1SEND_B0 <- 1I0", "0R0 <- 0RECV_B0",
                           "0B0 <- 0RECV_B0", "1NORM <- 1W1", "1W1 <- 1I1"}) {
    CHECK_MESSAGE(waits.find(wait) != std::string::npos, wait);
  }
}

TEST_CASE("reductions come before the norm, and a reader of names finds their groups") {
  const Program program = tiny_plan(two_replicas()).program;
  const std::string waits = waits_of(program);
  for (const char* wait :
       {"0TIED_REDUCE <- 0B1", "0REDUCE_GRAD <- 0TIED_REDUCE", "0NORM <- 0B1", "0OPT <- 0NORM",
        "0UNSHARD <- 0OPT", "2TIED_REDUCE <- 2B0", "3UNSHARD <- 3OPT"}) {
    CHECK_MESSAGE(waits.find(wait) != std::string::npos, wait);
  }
  for (const Action& action : program.actions) {
    if (!is_collective(action.kind)) {
      CHECK(action.group == kNoGroup);
      continue;
    }
    const std::uint32_t group = action.kind == ActionKind::kNorm ? 4
                                : action.kind == ActionKind::kTiedReduce
                                    ? 2U + action.stage.value / 2U
                                    : action.stage.value % 2U;
    CHECK(action.group == GroupId{group});
  }
  CHECK(program.groups[0] == Group{GroupKind::kDataParallel, "dp.stage0", 2});
  CHECK(program.pipelines[1].first_rank == 2);
  CHECK(program.pipelines[1].first_stage == 2);
  CHECK(program.pipelines[1].first_micro_batch == 2);
  CHECK(program.actions.back().kind == ActionKind::kUnshard);
}

TEST_CASE("what waits for a collective comes after all of its members") {
  const Program program = tiny_plan(two_replicas()).program;
  std::size_t norms = 0;
  for (const Action& action : program.actions) {
    if (action.kind == ActionKind::kNorm) ++norms;
    if (action.kind == ActionKind::kOptimizer) CHECK(norms == 4);
  }
}

// One rank holds both stages; nothing is sent.
Edits one_rank() {
  return {{R"("pipeline": 2, "chunks": 1)", R"("pipeline": 1, "chunks": 2)"},
          {R"("index": 1, "rank": 1)", R"("index": 1, "rank": 0)"},
          {R"("boundary_level": [0])", R"("boundary_level": [-1])"},
          {R"({"rank": 1, "previous": 0, "weight_set": 1)",
           R"({"rank": 0, "previous": 0, "weight_set": 1)"},
          {R"("name": "job", "stages": [0, 1])", R"("name": "job", "stages": [0])"},
          {kRank0, R"(["0F0", "1F0", "1B0", "0B0", "0F1", "1F1", "1I1", "0I1", "0W1", "1W1",
                    "0NORM", "0OPT", "1OPT"])"},
          {R"(],
          [
            {"repeat": 2, "advance": 1, "actions": ["1RECV_F0", "1F0", "1B0", "1SEND_B0"]},
            ["1NORM", "1OPT"]
          ])",
           "]"},
          {R"({
        "memory": {"parameters_bytes": 20)",
           R"(/*{
        "memory": {"parameters_bytes": 20)"},
          {R"("barrier_ns": 2510}
      })",
           R"("barrier_ns": 2510}
      }*/)"},
          {R"("barrier_ns": 10}
      },)",
           R"("barrier_ns": 10}
      })"}};
}

TEST_CASE("the neighbour on the same rank is waited for directly") {
  CHECK(waits_of(tiny_plan(one_rank()).program) ==
        "1F0 <- 0F0, 1B0 <- 1F0, 0B0 <- 1B0, 1F1 <- 0F1, 1I1 <- 1F1, 0I1 <- 1I1, 0W1 <- 0I1, "
        "1W1 <- 1I1, 0NORM <- 1W1, 0OPT <- 0NORM, 1OPT <- 0NORM");
}

TEST_CASE("two stages of a rank may be members of one collective") {
  Edits edits = one_rank();
  edits.push_back({R"("ties": [],)", R"("ties": [{"name": "t", "stages": [0, 1]}],)"});
  edits.push_back({R"("ties": [],)", R"("ties": [{"tied_reduce_ns": 5}],)"});
  edits.push_back(
      {R"({"kind": "job")",
       R"({"kind": "tied_weights", "name": "tied.t", "stages": [0, 1]}, {"kind": "job")"});
  edits.push_back({R"("0NORM")", R"("1TIED_REDUCE", "0TIED_REDUCE", "0NORM")"});
  const PlanFile file = tiny_plan(edits);
  CHECK(list_of(file.program, 0).size() == 15);
  CHECK(plan_of(text_of(file)) == file);
}

}  // namespace
}  // namespace penstock
