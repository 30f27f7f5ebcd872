#include "multi/gang.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "multi/gang_search.h"
#include "multi/seeded.h"
#include "tests/multi/shortest_gangs.h"

namespace penstock {
namespace {

using std::chrono::seconds;
using testing::shortest_gangs;

GangTask model(std::string name, const std::vector<std::pair<int, int>>& gpus_and_seconds) {
  GangTask task;
  task.name = std::move(name);
  for (const auto& [gpus, time] : gpus_and_seconds) {
    task.options.push_back({gpus, seconds(time), ""});
  }
  return task;
}

std::vector<GangTask> two_models() {
  return {model("A", {{1, 10}, {2, 6}, {4, 4}}), model("B", {{1, 10}, {2, 6}, {4, 4}})};
}

Duration makespan_of(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                     const std::vector<GangChoice>& order) {
  return list_gangs(tasks, nodes, order).makespan();
}

// No GPU runs two gangs at once, every gang has its GPUs, one node has all it can.
void require_sound(const GangSchedule& schedule, const std::vector<GangTask>& tasks,
                   const NodeSizes& nodes) {
  std::vector<bool> seen(tasks.size());
  const int gpus_per_node = nodes.front();
  for (const GangRun& run : schedule.runs) {
    CHECK_FALSE(seen[static_cast<std::size_t>(run.task)]);
    seen[static_cast<std::size_t>(run.task)] = true;
    const GangOption& option =
        tasks[static_cast<std::size_t>(run.task)].options[static_cast<std::size_t>(run.option)];
    CHECK(static_cast<int>(run.gpus.size()) == option.gpus);
    CHECK(run.end == run.start + option.runtime);
    if (option.gpus <= gpus_per_node) {
      CHECK(run.gpus.front() / gpus_per_node == run.gpus.back() / gpus_per_node);
    }
    for (const GangRun& other : schedule.runs) {
      if (&other == &run || other.end <= run.start || run.end <= other.start) continue;
      for (const int gpu : run.gpus) {
        CHECK(std::count(other.gpus.begin(), other.gpus.end(), gpu) == 0);
      }
    }
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(tasks.size()));
}

std::vector<GangTask> random_models(std::uint64_t seed, std::int64_t count) {
  Seeded random(seed);
  std::vector<GangTask> tasks;
  for (std::int64_t t = 0; t < count; ++t) {
    const auto one = static_cast<int>(20 + random.below(100));
    // Twice the GPUs bring 1.3 to 1.9 times the speed.
    const int two = one * 10 / static_cast<int>(13 + random.below(7));
    const int four = two * 10 / static_cast<int>(13 + random.below(7));
    tasks.push_back(model("m" + std::to_string(t), {{1, one}, {2, two}, {4, four}}));
  }
  return tasks;
}

}  // namespace

// Together with 2 GPUs each 6 s; one after the other with 4 each 8 s; on one GPU each 10 s.
TEST_CASE("two models on four GPUs take 6 s side by side, 8 s one after the other, at least 5 s") {
  const std::vector<GangTask> tasks = two_models();
  CHECK(makespan_of(tasks, {4}, {{0, 1}, {1, 1}}) == seconds(6));
  CHECK(makespan_of(tasks, {4}, one_after_another(tasks)) == seconds(8));
  CHECK(makespan_of(tasks, {4}, whole_tasks(tasks)) == seconds(10));
  CHECK(gang_bound(tasks, {4}) == seconds(5));
  CHECK(makespan_of(tasks, {4}, search_gangs(tasks, {4})) == seconds(6));
  CHECK(shortest_gangs(tasks, {4}).makespan() == seconds(6));
}

TEST_CASE("a gang stays within a node where one is large enough, and else takes whole nodes") {
  const std::vector<GangTask> tasks = {model("A", {{3, 4}}), model("B", {{3, 4}}),
                                       model("C", {{2, 1}}), model("D", {{6, 2}})};
  // Four GPUs a node: A on node 0, B on node 1, C behind A (no node has two free GPUs before 4 s);
  // D takes node 1 whole at 4 s, and two GPUs of node 0: those that C leaves.
  const GangSchedule schedule = list_gangs(tasks, {4, 4}, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  CHECK(schedule.runs[0].gpus == std::vector<int>{0, 1, 2});
  CHECK(schedule.runs[1].gpus == std::vector<int>{4, 5, 6});
  CHECK(schedule.runs[2].start == seconds(4));
  CHECK(schedule.runs[3].start == seconds(4));
  CHECK(schedule.runs[3].gpus.size() == 6);
  require_sound(schedule, tasks, {4, 4});
}

TEST_CASE("the search finds what branch and bound proves to be the shortest") {
  int best = 0;
  constexpr int kModels = 12;
  for (std::uint64_t seed = 1; seed <= kModels; ++seed) {
    CAPTURE(seed);
    const NodeSizes nodes = seed % 2 == 0 ? NodeSizes{4} : NodeSizes{4, 4};
    const std::vector<GangTask> tasks = random_models(seed, seed % 3 == 0 ? 5 : 4);
    const GangSchedule shortest = shortest_gangs(tasks, nodes);
    const GangSchedule found = list_gangs(tasks, nodes, search_gangs(tasks, nodes));
    require_sound(shortest, tasks, nodes);
    require_sound(found, tasks, nodes);
    CHECK(shortest.makespan() >= gang_bound(tasks, nodes));
    CHECK(found.makespan() >= shortest.makespan());
    CHECK(static_cast<double>(found.makespan().count()) <=
          1.02 * static_cast<double>(shortest.makespan().count()));
    best += found.makespan() == shortest.makespan() ? 1 : 0;
  }
  CHECK(best >= kModels - 2);
}

TEST_CASE("a search is never worse than the schedules it begins with, and repeats itself") {
  const std::vector<GangTask> tasks = random_models(7, 20);
  const NodeSizes nodes{8, 8};
  const std::vector<GangChoice> found = search_gangs(tasks, nodes);
  CHECK(found == search_gangs(tasks, nodes));
  for (const auto& order :
       {greedy_gangs(tasks, nodes), whole_tasks(tasks), one_after_another(tasks)}) {
    CHECK(makespan_of(tasks, nodes, found) <= makespan_of(tasks, nodes, order));
  }
}

// A ends at 10 s in time if it comes first, and B is late then by 3 x 2 s; the other way round A is
// late by 6 s, which weighs more.
TEST_CASE("what is late weighs before the makespan") {
  std::vector<GangTask> tasks = {model("A", {{1, 10}}), model("B", {{1, 6}})};
  tasks[0].wishes = {seconds(10), 2.0};
  tasks[1].wishes = {seconds(14), 3.0};
  const GangSchedule schedule = list_gangs(tasks, {1}, search_gangs(tasks, {1}));
  CHECK(schedule.runs.front().task == 0);
  CHECK(value_of(schedule, tasks).late_seconds == 6.0);
}

// A has 10 s left on one GPU; B is done, three GPUs are free. A on four GPUs would take 4 s and a
// restart.
TEST_CASE("a change is made where it pays for its restart, and for the least gain") {
  const std::vector<GangTask> tasks = {model("A", {{1, 10}, {4, 4}})};
  Replanning replanning;
  replanning.running = {RunningGang{{0}, 0, seconds(10)}};
  replanning.restart = seconds(5);
  const Replanned pays = replan_gangs(tasks, {4}, {}, replanning);
  CHECK(pays.changes);
  CHECK(pays.goes_on == seconds(10));
  CHECK(pays.schedule.makespan() == seconds(9));
  CHECK(pays.restarts == 1);

  replanning.least_gain = seconds(1);
  CHECK_FALSE(replan_gangs(tasks, {4}, {}, replanning).changes);
  replanning.least_gain = {};
  replanning.restart = seconds(6);
  const Replanned stays = replan_gangs(tasks, {4}, {}, replanning);
  CHECK_FALSE(stays.changes);
  CHECK(stays.schedule.makespan() == seconds(10));
  CHECK(stays.schedule.runs.front().gpus == std::vector<int>{0});
}

// A runs on GPUs 0 and 1 for 6 s more; B was to follow it on four GPUs: 6 + 4 s. B beside it on two
// GPUs ends at 6 s, and costs nothing: it has not begun.
TEST_CASE("a model that has not begun changes for nothing") {
  const std::vector<GangTask> tasks = two_models();
  Replanning replanning;
  replanning.running = {RunningGang{{0, 1}, 1, seconds(6)}, std::nullopt};
  replanning.restart = seconds(100);
  const Replanned replanned = replan_gangs(tasks, {4}, {{1, 2}}, replanning);
  CHECK(replanned.goes_on == seconds(10));
  CHECK(replanned.schedule.makespan() == seconds(6));
  CHECK(replanned.restarts == 0);
}

}  // namespace penstock
