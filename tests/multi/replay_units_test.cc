#include "multi/replay_units.h"

#include <doctest/doctest.h>

#include "multi/priority_search.h"
#include "multi/unit_bound.h"
#include "tests/multi/tasks.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::spilled;
using tests::task_of;
using tests::three_tasks;

std::string drawn(const UnitReplay& replay, int gpu, const std::vector<UnitTask>& tasks) {
  std::string text;
  for (const UnitRun& run : replay.runs) {
    if (run.gpu != gpu) continue;
    if (!text.empty()) text += ", ";
    text += tasks[static_cast<std::size_t>(run.task)].name + " " +
            std::to_string(run.start / seconds(1)) + "-" + std::to_string(run.end / seconds(1));
  }
  return text;
}

Duration step_of(const UnitTask& task, int gpus = 1, const HostLinks& links = {}) {
  UnitTask more = task;
  more.steps = task.steps + 1;
  return replay_units({more}, gpus, links).makespan - replay_units({task}, gpus, links).makespan;
}

}  // namespace

// The table, unit by unit: at 5 GPU 1 leaves B (2 left behind its unit of 3) for C (4 left).
TEST_CASE("Sharded-LRTF on two GPUs is 14 s, as worked out by hand") {
  const std::vector<UnitTask> tasks = three_tasks();
  const UnitReplay replay = replay_units(tasks, 2);
  CHECK(drawn(replay, 0, tasks) == "A 0-1, A 1-4, A 4-6, A 6-7, A 7-10, A 10-12");
  CHECK(drawn(replay, 1, tasks) == "C 0-4, B 4-5, B 5-8, C 8-12, B 12-14");
  CHECK(replay.makespan == seconds(14));
  CHECK(replay.ends == std::vector<Duration>{seconds(12), seconds(14), seconds(12)});
  CHECK(unit_bound(tasks, 2).makespan() == seconds(13));  // (12 + 6 + 8) / 2
}

// B's first unit before A, and C before A's: then A follows B on GPU 0 at 1.
TEST_CASE("the bound of 13 s is reached when B begins, and local search finds it") {
  const std::vector<UnitTask> tasks = three_tasks();
  UnitRules rules;
  rules.boosts = {{1, 0, 1, seconds(7)}, {2, 0, 1, seconds(5)}};
  const UnitReplay replay = replay_units(tasks, 2, {}, rules);
  CHECK(drawn(replay, 0, tasks) == "B 0-1, A 1-2, A 2-5, A 5-7, A 7-8, A 8-11, A 11-13");
  CHECK(replay.makespan == seconds(13));

  const UnitRules found = search_priorities(tasks, 2, {}, std::vector<Wishes>(3)).rules;
  CHECK(replay_units(tasks, 2, {}, found).makespan == seconds(13));
}

TEST_CASE("three tasks of 2, 4, 2 on two GPUs take 12 s, the bound") {
  const std::vector<UnitTask> tasks = {task_of("A", {2, 4, 2}), task_of("B", {2, 4, 2}),
                                       task_of("C", {2, 4, 2})};
  CHECK(replay_units(tasks, 2).makespan == seconds(12));
  CHECK(unit_bound(tasks, 2).makespan() == seconds(12));
}

// A task of a single unit leaves its GPU without a next task; the other tasks come later.
TEST_CASE("a GPU without a next task is served again") {
  const std::vector<UnitTask> tasks = {task_of("A", {1}), task_of("B", {2, 2}), task_of("C", {5})};
  for (const NextTask rule :
       {NextTask::kLongestRemaining, NextTask::kRoundRobin, NextTask::kWholeTasks}) {
    const UnitReplay replay = replay_units(tasks, 2, {}, {rule});
    for (const Duration end : replay.ends) CHECK(end > Duration{});
    CHECK(replay.runs.size() == 4);
  }
  // More GPUs than tasks: each task has one for itself.
  CHECK(replay_units(tasks, 8).makespan == seconds(5));
}

// 8 + 5 + 4 and 7: longest first, A then (after 8 s) nothing longer; B 7 then C 5, A 8 then D 4.
TEST_CASE("whole tasks stay on their GPU, the longest first") {
  const std::vector<UnitTask> tasks = {task_of("A", {4, 4}), task_of("B", {7}), task_of("C", {5}),
                                       task_of("D", {2, 2})};
  const UnitReplay replay = replay_units(tasks, 2, {}, {NextTask::kWholeTasks});
  CHECK(drawn(replay, 0, tasks) == "A 0-4, A 4-8, D 8-10, D 10-12");
  CHECK(drawn(replay, 1, tasks) == "B 0-7, C 7-12");
}

TEST_CASE("round robin takes the tasks in turn") {
  const std::vector<UnitTask> tasks = {task_of("A", {1, 1}), task_of("B", {1, 1}),
                                       task_of("C", {1, 1})};
  const UnitReplay replay = replay_units(tasks, 1, {}, {NextTask::kRoundRobin});
  CHECK(drawn(replay, 0, tasks) == "A 0-1, B 1-2, C 2-3, A 3-4, B 4-5, C 5-6");
}

// S = 4: F0, F1, F2, FB3, B2, B1, B0. Loads precede F2, FB3, B1 and B0; F1 and F2 are stretched to
// the next load. 0.2 + 2/3 + 0.8 + 3 x 0.6 = 3.4667 s. S = 3 needs 2S - 4 = 2 loads, before FB2 and
// B0, both behind longer units but for F1: 0.2 + 1/3 + 0.8 + 2 x 0.6 = 2.5333 s.
TEST_CASE("a spilled model alone takes what the closed forms say") {
  CHECK(step_of(spilled(4, 3)) == Duration{3'466'666'666});
  CHECK(step_of(spilled(3, 3)) == Duration{2'533'333'333});
  // All on one GPU from the beginning: two shards have a slot each.
  CHECK(step_of(spilled(2, 3)) == milliseconds(1600));
  const UnitReplay two = replay_units({spilled(4, 2)}, 1);
  const UnitReplay three = replay_units({spilled(4, 3)}, 1);
  CHECK(three.loads - two.loads == 4);  // 2S - 4
}

// Write-backs of 0.1 s hide behind the backward units on a duplex link. On a simplex link the load
// for B1 waits for nothing (the copy of FB3 goes first: 0.1 + 1/3 < 0.6), so neither does the step.
TEST_CASE("copies back are hidden where there is time, and stretch a step where there is none") {
  const UnitTask task = spilled(4, 3, Duration{333'333'333}, milliseconds(100));
  CHECK(step_of(task) == Duration{3'466'666'666});
  CHECK(step_of(task, 1, {1, false}) == Duration{3'466'666'666});
  // 0.5 s back and 1/3 s in on one lane: B2 and B1 are stretched to 0.833 s; the copy of B1 delays
  // the load of shard 3's... every step moves 4 x 0.5 + 4/3 s, more than its 3.2 s of compute.
  const UnitTask slow = spilled(4, 3, Duration{333'333'333}, milliseconds(500));
  CHECK(step_of(slow, 1, {1, false}) >= Duration{3'333'333'332});
  CHECK(step_of(slow) <= step_of(slow, 1, {1, false}));
}

// Two GPUs behind one link load at once: each takes twice as long, 2 s; then compute 1 s each.
TEST_CASE("GPUs behind one host link share its bandwidth") {
  UnitTask task{"A", {{0, seconds(1), seconds(1), {}}}, 1};
  const std::vector<UnitTask> tasks = {task, task};
  CHECK(replay_units(tasks, 2, {1, true}).makespan == seconds(2));
  CHECK(replay_units(tasks, 2, {2, true}).makespan == seconds(3));
  // 1 s alone; together with the second one until both have had half a second more: A's load of 2 s
  // begins at 0 beside B's of 1 s: B ends at 2, A at 3.
  std::vector<UnitTask> unequal = tasks;
  unequal[0].units[0].load = seconds(2);
  const UnitReplay replay = replay_units(unequal, 2, {2, true});
  CHECK(replay.ends == std::vector<Duration>{seconds(4), seconds(3)});
}

// A's shard is changed on GPU 0 and copied back for 3 s; GPU 1 must wait for it, GPU 0 need not.
TEST_CASE("a shard that was changed is not loaded before it is on the host") {
  const UnitTask changing{"A", {{0, seconds(1), {}, seconds(3)}, {0, seconds(1), {}, {}}}, 1};
  const UnitReplay replay = replay_units({changing}, 1);
  CHECK(replay.ends.front() == seconds(2));
  CHECK(replay.makespan == seconds(4));  // its copy ends last
}

TEST_CASE("a replay is the same every time, with or without its runs") {
  const std::vector<UnitTask> tasks = {spilled(4, 5), spilled(3, 7), spilled(6, 4)};
  const UnitReplay kept = replay_units(tasks, 2, {2, false});
  CHECK(kept == replay_units(tasks, 2, {2, false}));
  UnitReplay bare = replay_units(tasks, 2, {2, false}, {NextTask::kLongestRemaining, {}, false});
  bare.runs = kept.runs;
  CHECK(bare == kept);
}

}  // namespace penstock
