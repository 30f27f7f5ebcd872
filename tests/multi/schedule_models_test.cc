#include "multi/schedule_models.h"

#include <doctest/doctest.h>

#include "tests/multi/tasks.h"

namespace penstock {
namespace {

using std::chrono::seconds;

MultiQuestion of_units() {
  MultiQuestion question;
  for (const UnitTask& task : tests::three_tasks()) {
    question.models.push_back({task.name, {}, task, {}});
  }
  question.nodes = {2};
  return question;
}

}  // namespace

TEST_CASE("the best of all candidates is never above any of them, nor below the bound") {
  const MultiAnswer answer = schedule_models(of_units());
  CHECK(answer.bound == seconds(13));
  CHECK(answer.candidates.front().name == "Sharded-LRTF");
  CHECK(answer.candidates.front().value.makespan == seconds(14));
  for (const MultiCandidate& candidate : answer.candidates) {
    CHECK_FALSE(candidate.value.is_better_than(answer.candidates[answer.best].value));
    CHECK(candidate.value.makespan >= answer.bound);
  }
  CHECK(answer.candidates[answer.best].value.makespan == seconds(13));
  Duration busy{};
  for (const GpuBlock& block : answer.blocks) busy += block.end - block.start;
  CHECK(busy == seconds(26));
}

TEST_CASE("models with options run as gangs, beside one that is spilled") {
  MultiQuestion question;
  question.nodes = {4};
  const std::vector<GangOption> options = {
      {1, seconds(10), "TP=1"}, {2, seconds(6), "TP=2"}, {4, seconds(4), "TP=4"}};
  question.models = {{"A", options, std::nullopt, {}}, {"B", options, std::nullopt, {}}};
  const MultiAnswer two = schedule_models(question);
  CHECK(two.bound == seconds(5));
  CHECK(two.candidates[two.best].value.makespan == seconds(6));
  CHECK(two.models[0].words == "TP=2");
  CHECK(two.blocks.size() == 4);

  // C on one GPU for 6 s leaves three: A and B end at 10 s on one each, or one on two GPUs.
  question.models.push_back({"C", {}, tests::task_of("C", {2, 2, 2}), {}});
  const MultiAnswer three = schedule_models(question);
  CHECK(three.bound == Duration{6'500'000'000});  // (10 + 10 + 6) / 4
  CHECK(three.candidates[three.best].value.makespan == seconds(10));
  CHECK(three.models[2].gpus.size() == 1);
}

TEST_CASE("units with short gaps are one stretch") {
  const std::vector<UnitRun> runs = {{0, 0, 0, seconds(0), seconds(1)},
                                     {0, 0, 1, seconds(2), seconds(3)},
                                     {0, 1, 0, seconds(3), seconds(4)},
                                     {0, 0, 2, seconds(4), seconds(5)}};
  CHECK(blocks_of(runs, 1, Duration{1}).size() == 4);
  const std::vector<GpuBlock> fewer = blocks_of(runs, 1, seconds(2));
  CHECK(fewer.front() == GpuBlock{0, 0, seconds(0), seconds(3)});
  CHECK(fewer.size() == 3);
}

}  // namespace penstock
