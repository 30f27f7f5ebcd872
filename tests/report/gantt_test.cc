#include "report/gantt.h"

#include <vector>

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;

namespace {

struct Ran {
  ActionKind kind;
  std::uint32_t micro_batch;
  int rank;
  int start, end;  // ms
};

struct Step {
  Program program;
  Timeline timeline;
};

// One stage per rank.
Step step_of(int ranks, const std::vector<Ran>& actions) {
  Step step;
  Pipeline pipeline;
  pipeline.ranks = pipeline.stages = ranks;
  step.program.pipelines = {pipeline};
  for (int r = 0; r < ranks; ++r) {
    Stage stage;
    stage.rank = RankId{r};
    step.program.stages.push_back(stage);
  }
  for (const Ran& ran : actions) {
    Action action;
    action.kind = ran.kind;
    action.stage = StageId{static_cast<std::uint16_t>(ran.rank)};
    if (has_micro_batch(ran.kind)) action.micro_batch = MicroBatchId{ran.micro_batch};
    step.program.actions.push_back(action);
    step.timeline.start.push_back(SimTime(std::chrono::milliseconds(ran.start)));
    step.timeline.end.push_back(SimTime(std::chrono::milliseconds(ran.end)));
  }
  return step;
}

std::string drawn(const Step& step) { return gantt(step.program, step.timeline, Screen{}); }

std::string repeated(char letter, int count) {
  return std::string(static_cast<std::size_t>(count), letter);
}

}  // namespace

TEST_CASE("a cell shows what the rank did at its middle") {
  // 89 cells for 89 ms, one each.
  const Step step = step_of(2, {{ActionKind::kForward, 0, 0, 0, 10},
                                {ActionKind::kForward, 1, 0, 10, 20},
                                {ActionKind::kForward, 0, 1, 10, 30},
                                {ActionKind::kFusedBackward, 0, 1, 30, 60},
                                {ActionKind::kFusedBackward, 0, 0, 60, 80},
                                {ActionKind::kNorm, 0, 0, 80, 85},
                                {ActionKind::kOptimizer, 0, 0, 85, 89}});
  CHECK(drawn(step) ==
        "       |0 ns                 |22.25 ms             |44.5 ms              |66.75 ms        "
        "89 "
        "ms|\n"
        "rank 0 " +
            repeated('F', 10) + repeated('f', 10) + repeated('.', 40) + repeated('B', 20) +
            "gggggoooo\n"
            "rank 1 " +
            repeated('.', 10) + repeated('F', 20) + repeated('B', 30) + repeated('.', 29) +
            "\n"
            "F forward, B backward, g reductions, o optimizer, . idle or in a transfer; odd "
            "micro-batches in\n"
            "lower case. A cell shows what the rank did at the cell's middle.\n");
}

TEST_CASE("where micro-batches are shorter than a cell, all letters are upper case") {
  std::vector<Ran> actions;
  for (int m = 0; m < 80; ++m) {
    const auto micro_batch = static_cast<std::uint32_t>(m);
    actions.push_back({ActionKind::kForward, micro_batch, 0, 2 * m, 2 * m + 1});
    actions.push_back({ActionKind::kFusedBackward, micro_batch, 0, 2 * m + 1, 2 * m + 2});
  }
  // 160 ms: a cell is 1.8 ms, longer than an action, so the start and the end are drawn apart.
  const std::string text = drawn(step_of(1, actions));
  CHECK(text.find("The start:\n") == 0);
  CHECK(text.find("that are not drawn:\n") != std::string::npos);
}

TEST_CASE("the windows of a long step say what lies between them") {
  // One rank, 1,000 times F and B of 1 ms. The first backward ends at 2 ms, a quarter more is 2.5
  // ms. The last forward begins at 1,998 ms; the end is at 2,000 ms, so the second window begins at
  // 1,997.5.
  std::vector<Ran> actions;
  for (int m = 0; m < 1000; ++m) {
    const auto micro_batch = static_cast<std::uint32_t>(m);
    actions.push_back({ActionKind::kForward, micro_batch, 0, 2 * m, 2 * m + 1});
    actions.push_back({ActionKind::kFusedBackward, micro_batch, 0, 2 * m + 1, 2 * m + 2});
  }
  const std::string text = drawn(step_of(1, actions));
  CHECK(text.find("The end, after 1.995 s that are not drawn:\n") != std::string::npos);
  // 89 cells of 2.5 ms: F until 1 ms is 35.6 cells, B until 2 ms 35.6 more.
  CHECK(text.find("rank 0 " + repeated('F', 36) + repeated('B', 35) + repeated('f', 18) + "\n") !=
        std::string::npos);
}

TEST_CASE("of many ranks the first and the last are drawn") {
  std::vector<Ran> actions;
  actions.reserve(60);
  for (int r = 0; r < 60; ++r) actions.push_back({ActionKind::kForward, 0, r, 0, 1});
  const std::string text = drawn(step_of(60, actions));
  CHECK(text.find("rank 23 F") != std::string::npos);
  CHECK(text.find("... (12 more, not drawn)\n") == std::string::npos);  // the label is padded
  CHECK(text.find("...     (12 more, not drawn)\nrank 36 F") != std::string::npos);
}

TEST_CASE("a copy back to the host at the end is part of the step") {
  const Step step =
      step_of(1, {{ActionKind::kForward, 0, 0, 0, 49}, {ActionKind::kStore, 0, 0, 49, 89}});
  CHECK(drawn(step).find("rank 0 " + repeated('F', 49) + repeated('s', 40) + "\n") !=
        std::string::npos);
}

TEST_CASE("a step without time has no drawing") {
  CHECK(drawn(step_of(1, {{ActionKind::kForward, 0, 0, 0, 0}})) ==
        "every action takes no time: there is nothing to draw\n");
}

TEST_CASE("a pair that overlaps is one letter") {
  // 89 cells for 89 ms.
  Step step = step_of(1, {{ActionKind::kForward, 0, 0, 0, 10},
                          {ActionKind::kForward, 1, 0, 10, 60},
                          {ActionKind::kFusedBackward, 0, 0, 10, 60},
                          {ActionKind::kFusedBackward, 1, 0, 60, 89}});
  step.program.actions[1].overlaps_next = true;
  const std::string text = drawn(step);
  CHECK(text.find("rank 0 " + repeated('F', 10) + repeated('X', 50) + repeated('b', 29)) !=
        std::string::npos);
  CHECK(text.find("F forward, B backward, X a forward and a backward together, . idle") !=
        std::string::npos);
}
