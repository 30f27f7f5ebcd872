#include "manager/choose_plan.h"

#include <utility>

#include <doctest/doctest.h>

#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

JobState on_slow_machine(const JobRules& rules) {
  JobState state = first_state(rules, "secret", at({}));
  JobMachine machine;
  machine.name = "a";
  machine.gpus = 4;
  machine.slow_factor = 2.0;
  state.machines.push_back(machine);
  return state;
}

// On two fast GPUs a step takes 2 s, on two slow ones 4 s, on all four 1 s.
JobRules rules_of_types() {
  JobRules rules = rules_of_test();
  rules.types = {"fast", "slow"};
  rules.pages = {{1, 2, seconds(4), {{"slow", 2}}},
                 {2, 2, seconds(2), {{"fast", 2}}},
                 {3, 4, seconds(1), {{"slow", 2}, {"fast", 2}}}};
  return rules;
}

std::vector<std::string> machines_of(const std::vector<PlacedRank>& ranks) {
  std::vector<std::string> machines;
  for (const PlacedRank& rank : ranks) machines.push_back(rank.machine);
  return machines;
}

TEST_CASE(
    "a machine that is there keeps its type, and its notice where it cannot join as another") {
  Told job(rules_of_types());
  job(seconds(0), MachineJoined{"f", 2, "fast"});
  job(seconds(1), MachineLeaves{"f", at(seconds(300)), ""});
  job(seconds(2), MachineJoined{"f", 2, "slow"});
  CHECK(job.state.machines.at(0).gone_by == at(seconds(300)));
  CHECK(job.last.log.at(0).reason == "It was there already, with GPUs of type fast.");
  job(seconds(3), CommandGiven{"1", CommandKind::kJoin, "test", "f", 2, {}, "slow"});
  REQUIRE(job.last.answer);
  CHECK_FALSE(job.last.answer->accepted);
  CHECK(job.last.answer->words == "It was there already, with GPUs of type fast.");
  CHECK(job.state.machines.at(0).gone_by == at(seconds(300)));
  job(seconds(4), CommandGiven{"2", CommandKind::kJoin, "test", "f", 2, {}, "fast"});
  CHECK(job.last.answer->accepted);
  CHECK_FALSE(job.state.machines.at(0).gone_by);
}

// Which a manager has stored before the book counted types.
TEST_CASE("a machine of which no type is known gets one when it joins again") {
  Told job(rules_of_types());
  JobMachine machine;
  machine.name = "f";
  machine.gpus = 2;
  job.state.machines = {machine};
  job(seconds(1), TimePassed{});
  CHECK(job.state.phase == JobPhase::kWaiting);
  job(seconds(2), MachineJoined{"f", 2, "fast"});
  CHECK(job.state.machines.at(0).device == "fast");
  CHECK(job.state.history.back().of_types == std::vector<int>{2, 0});
  CHECK(job.state.generation.page == 2);
}

TEST_CASE("ranks go to machines of their device types, and the plan is the one for what is there") {
  Told job(rules_of_types());
  job(seconds(0), MachineJoined{"f", 2, "fast"});
  CHECK(job.state.generation.page == 2);
  CHECK(machines_of(job.state.generation.ranks) == std::vector<std::string>{"f", "f"});
  job(seconds(10), StepFinished{1, 1, 0.5, seconds(2)});
  // Two GPUs more, of a type that no plan has, are none that a plan could use.
  job(seconds(11), MachineJoined{"x", 2, "other"});
  job(seconds(11), MachineJoined{"y", 2, ""});
  CHECK(job.state.machines.size() == 1);
  job(seconds(12), CommandGiven{"1", CommandKind::kJoin, "test", "z", 2, {}, "other"});
  REQUIRE(job.last.answer);
  CHECK_FALSE(job.last.answer->accepted);
  // 99 steps at 1 s instead of 2 s pay for a change at once or after a while.
  job(seconds(13), MachineJoined{"s", 4, "slow"});
  for (int when = 14; when < 200 && job.state.phase == JobPhase::kRunning; ++when) {
    job(seconds(when), TimePassed{});
  }
  REQUIRE(job.state.phase == JobPhase::kStopping);
  job.all_end(seconds(200), 4);
  CHECK(job.state.generation.page == 3);
  CHECK(machines_of(job.state.generation.ranks) == std::vector<std::string>{"s", "s", "f", "f"});
  CHECK(job.state.generation.ranks[3].local_rank == 1);
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
  // The fast ones are lost: four slow ones are left, of which a plan takes two.
  job(seconds(210), StepFinished{2, 2, 0.5, seconds(1)});
  job(seconds(220), MachineLost{"f", "test"});
  job.all_end(seconds(224), 3);
  CHECK(job.state.generation.page == 1);
  CHECK(machines_of(job.state.generation.ranks) == std::vector<std::string>{"s", "s"});
}

TEST_CASE("the log names the types of a plan's GPUs") {
  Told job(rules_of_types());
  job(seconds(0), MachineJoined{"f", 2, "fast"});
  CHECK(job.last.log.at(1).reason ==
        "Generation 1 runs the plan for 2 GPUs (2 fast) on f, from step 0.");
  const PlanPage found{kFirstFoundPage + 1, 3, seconds(1), {{"fast", 1}, {"slow", 1}, {"fast", 1}}};
  CHECK(words_of(PlanFound{found}) ==
        "a search found a plan for 3 GPUs (2 fast, 1 slow), 1 s a step");
}

// Two fast GPUs and one slow one: the book has a plan for the fast ones alone, a search finds one
// for all three, which takes 1.25 s instead of 2 s.
TEST_CASE("a plan that a search found for the types that are there is used like a page") {
  Told job(rules_of_types());
  job(seconds(0), MachineJoined{"f", 2, "fast"});
  job(seconds(10), StepFinished{1, 1, 0.5, seconds(2)});
  job(seconds(11), MachineJoined{"s", 1, "slow"});
  CHECK(job.state.phase == JobPhase::kRunning);  // no page uses it
  job(seconds(12),
      PlanFound{{kFirstFoundPage + 1, 3, milliseconds(1250), {{"slow", 1}, {"fast", 2}}}});
  for (int when = 13; when < 200 && job.state.phase == JobPhase::kRunning; ++when) {
    job(seconds(when), TimePassed{});
  }
  REQUIRE(job.state.phase == JobPhase::kStopping);
  job.all_end(seconds(200), 4);
  CHECK(job.state.generation.page == kFirstFoundPage + 1);
  CHECK(machines_of(job.state.generation.ranks) == std::vector<std::string>{"s", "f", "f"});
  // A fast one is lost: of what is left the book has nothing, and the plan for three does not fit.
  job(seconds(210), StepFinished{2, 2, 0.5, milliseconds(1250)});
  job(seconds(211), MachineLost{"f", "test"});
  job.all_end(seconds(215), 3);
  CHECK(job.state.phase == JobPhase::kWaiting);
}

// The slow machine takes twice as long. A plan for the same ranks that gives it less is best, then
// leaving it out: two fast ones take 2 s, four as they are 2 s and more.
TEST_CASE("a slow machine of one type is planned around where that is best") {
  JobRules rules = rules_of_types();
  rules.advised = true;
  Told job(rules);
  for (const auto& [name, type] : {std::pair{"f", "fast"}, std::pair{"s", "slow"}}) {
    JobMachine machine;
    machine.name = name;
    machine.gpus = 2;
    machine.device = type;
    job.state.machines.push_back(machine);
  }
  job(seconds(0), TimePassed{});
  REQUIRE(job.state.generation.page == 3);
  job(seconds(10), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(12), MachineSlow{"s", 2.0});
  CHECK(job.state.phase == JobPhase::kRunning);  // until the simulation has said what it costs
  PlanPage other{kFirstFoundPage + 1, 4, milliseconds(1250), {{"slow", 2}, {"fast", 2}}};
  job(seconds(13), SlowAdvised{1, milliseconds(1900), other, "cuts"});
  REQUIRE(job.state.phase == JobPhase::kStopping);
  job.all_end(seconds(15), 4);
  CHECK(job.state.generation.page == kFirstFoundPage + 1);
  CHECK(machines_of(job.state.generation.ranks) == std::vector<std::string>{"s", "s", "f", "f"});
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
}

TEST_CASE("a job that waits says what there is of each type") {
  Told job(rules_of_types());
  job(seconds(0), MachineJoined{"f", 1, "fast"});
  job(seconds(1), MachineJoined{"s", 1, "slow"});
  CHECK(job.state.phase == JobPhase::kWaiting);
  CHECK(job.state.why == "no plan of the book fits 1 fast, 1 slow");
}

// Both plans take 2 s, and 4 s on a machine that is half as fast.
TEST_CASE("of plans that are equally fast the one on fewer GPUs is started, as listed or not") {
  JobRules rules = rules_of_test();
  for (const bool descending : {false, true}) {
    rules.pages = {{1, 2, seconds(2)}, {2, 4, seconds(2)}};
    if (descending) std::swap(rules.pages[0], rules.pages[1]);
    const auto chosen = plan_to_start(rules, on_slow_machine(rules), at(seconds(1)));
    REQUIRE(chosen.has_value());
    CHECK(chosen->page.gpus == 2);
    CHECK(chosen->ranks.size() == 2);
    CHECK(chosen->step() == seconds(4));
  }
}

// 1 s a step on ranks that are half as fast, but not on ranks that are well again.
TEST_CASE("a plan that was made for slow ranks is started while they are as slow") {
  const JobRules rules = rules_of_test();
  JobState state = on_slow_machine(rules);
  TailoredPlan made;
  made.page = {9, 2, seconds(1)};
  for (int rank = 0; rank < 2; ++rank) {
    PlacedRank& placed = made.ranks.emplace_back();
    placed.rank = placed.local_rank = rank;
    placed.machine = "a";
    made.factors.push_back(2.0);
  }
  state.tailored = made;
  const auto slow = plan_to_start(rules, state, at(seconds(1)));
  REQUIRE(slow.has_value());
  CHECK(slow->is_tailored);
  CHECK(slow->page.page == 9);
  for (const double now : {1.0, 1.5, 3.0}) {
    state.machines[0].slow_factor = now;
    const auto chosen = plan_to_start(rules, state, at(seconds(1)));
    REQUIRE(chosen.has_value());
    CHECK_FALSE(chosen->is_tailored);
  }
}

// 3 s and 2 s: the larger plan is faster by more than it takes.
TEST_CASE("a plan for more GPUs than the slow machine has is not started on it") {
  JobRules rules = rules_of_test();
  rules.pages = {{1, 2, seconds(3)}, {2, 4, seconds(2)}, {3, 8, seconds(1)}};
  const auto chosen = plan_to_start(rules, on_slow_machine(rules), at(seconds(1)));
  REQUIRE(chosen.has_value());
  CHECK(chosen->page.gpus == 4);
  CHECK(chosen->slow_factor == 2.0);
}

}  // namespace
}  // namespace penstock::test
