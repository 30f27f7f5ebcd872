// Virtual ranks on a clock that jumps: every action at the nanosecond at which the simulator has
// it, since the executor, the transport and the order of a real run add nothing to the prices.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/order_actions.h"
#include "core/files/program_blocks.h"
#include "core/values/action_rules.h"
#include "core/values/error.h"
#include "runtime_bridge/run_virtual.h"
#include "search/evaluate.h"
#include "tests/core/eight_shapes_plan.h"
#include "tests/core/slots_plan.h"
#include "tests/runtime_bridge/ring_plans.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using namespace penstock::testing;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // From `low` to `high`, both included.
  int between(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return between(0, 1) == 1; }

 private:
  std::mt19937_64 engine_;
};

std::vector<MeasuredStep> jumped(const PlanFile& file, std::int64_t steps = 2) {
  VirtualRunOptions options;
  options.steps = steps;
  options.jumps = true;
  return run_virtual(std::make_shared<const PlanFile>(file), options, nullptr);
}

// Ends of all actions; starts of those that nobody posts early or joins late.
void check_exact(const PlanFile& file) {
  const Timeline timeline = replay_plan_file(file).timeline;
  std::vector<std::vector<std::size_t>> lists(static_cast<std::size_t>(file.program.ranks()));
  SimTime first = SimTime::max(), last{};
  for (std::size_t i = 0; i < file.program.actions.size(); ++i) {
    lists[static_cast<std::size_t>(file.program.rank_of(file.program.actions[i]).value)].push_back(
        i);
    first = std::min(first, timeline.start[i]);
    last = std::max(last, timeline.end[i]);
  }
  for (const MeasuredStep& step : jumped(file)) {
    CHECK(step.step_time == last - first);
    for (const MeasuredRank& rank : step.ranks) {
      const Pipeline& pipeline = file.program.pipelines[static_cast<std::size_t>(rank.pipeline)];
      const auto& list = lists[static_cast<std::size_t>(pipeline.first_rank + rank.pipeline_rank)];
      REQUIRE(rank.end.size() == list.size());
      for (std::size_t k = 0; k < list.size(); ++k) {
        const Action& action = file.program.actions[list[k]];
        CAPTURE(rank.rank);
        CAPTURE(name_of(file.program, action));
        CHECK(rank.end[k] == timeline.end[list[k]].time_since_epoch());
        const Lane lane = rule_of(action.kind).lane;
        if (lane == Lane::kWire || lane == Lane::kCollective) continue;
        CHECK(rank.start[k] == timeline.start[list[k]].time_since_epoch());
      }
    }
  }
}

TEST_CASE("every schedule runs on virtual ranks to the nanosecond") {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-h2",
                               "interleaved-zb", "zb-v", "v-half", "v-min", "chimera"}) {
    for (const bool zero1 : {false, true}) {
      CAPTURE(std::string(schedule));
      CAPTURE(zero1);
      Plan plan = plan_of(schedule, {4, 2, 2, 8});
      plan.zero1 = zero1;
      check_exact(ring_plan(ring_model(8, true), plan, {2, 4, 2}));
    }
  }
}

TEST_CASE("a batch that does not divide runs to the nanosecond: two distinct pipelines") {
  Plan plan = plan_of("1f1b", {2, 1, 2, 3});
  plan.global_batch = 5;
  check_exact(ring_plan(ring_model(4, false), plan, {2, 4, 1}));
}

TEST_CASE("micro-batches of eight shapes run to the nanosecond") {
  Batch batch;
  ReplicaBatch& replicas = batch.replicas.emplace_back();
  for (const int size : {3, 1, 8, 2, 5, 7, 4, 6}) {
    replicas.runs.push_back({1, static_cast<int>(batch.shapes.size())});
    batch.shapes.push_back({size, 0, 0});
  }
  Plan plan = plan_of("1f1b", {2, 1, 1, 8});
  set_batch(plan, batch);
  check_exact(ring_plan(ring_model(2, false), plan, {1, 2, 1}));
}

// Worked out in tests/core/eight_shapes_plan.h; tests/search/batch_plans_test.cc has what check and
// the oracle say of it.
TEST_CASE("a plan of eight shapes that was written by hand takes the time of the paper") {
  const PlanFile file = read_plan(parse_json(eight_shapes(), "t"), "t");
  check_exact(file);
  for (const MeasuredStep& step : jumped(file)) CHECK(step.step_time == Duration{161'710});
}

// 210 ns, and 225 with one lane for both directions, worked out in tests/core/slots_plan.h.
TEST_CASE("a plan with two slots loads and stores to the nanosecond of paper and simulator") {
  PlanFile file = slots_plan();
  check_exact(file);
  CHECK(jumped(file)[1].step_time == Duration{210});
  file.executor.host_link = HostLink::kSimplex;
  check_exact(file);
  CHECK(jumped(file)[1].step_time == Duration{225});
}

// The list "0F0 ... 0STORE" without a wait ends at 210 ns. 2LOAD begins when 0RESHARD has given its
// slot back, at 10; a listed wait for 1F0 puts it off to 20, and F(2), B(2) and all that follow on
// stage 2 with it: S(2) from 85 to 125, L(0) to 155, B(0) to 175, O(0) to 180, S(0) to 220.
TEST_CASE("a wait that only the file lists puts a copy off") {
  PlanFile file = slots_plan();
  std::uint32_t load = 0, forward = 0;
  for (std::uint32_t i = 0; i < file.program.actions.size(); ++i) {
    const std::string name = name_of(file.program, file.program.actions[i]);
    if (name == "2LOAD") load = i;
    if (name == "1F0") forward = i;
  }
  REQUIRE(load < forward);
  // The file's list has 2LOAD before 1F0; a Program lists what is needed first.
  ActionLists lists;
  lists.actions = file.program.actions;
  for (Action& action : lists.actions) action.waits_for = kWaitsForNothing;
  std::rotate(lists.actions.begin() + load, lists.actions.begin() + load + 1,
              lists.actions.begin() + forward + 1);
  lists.begin = {0, lists.actions.size()};
  lists.more_waits = {{forward, forward - 1, true}};
  Program program = file.program;
  REQUIRE(order_actions(program, lists).empty());
  file.program = program;
  check_exact(file);
  CHECK(jumped(file)[0].step_time == Duration{220});
}

// Two ranks, F 2 and B 4 ms, 1 ms per hop: 1F0 waits for 0F1 on top of what it needs, and begins at
// 4 ms and not at 3; rank 1 is never idle after it, so that the step ends 1 ms later.
TEST_CASE("an action may wait for the compute of another rank") {
  PlanFile file = ring_plan(ring_model(2, false), plan_of("1f1b", {2, 1, 1, 3}), {2, 4, 1});
  const auto index_of = [&](const std::string& name) {
    for (std::uint32_t i = 0; i < file.program.actions.size(); ++i) {
      if (name_of(file.program, file.program.actions[i]) == name) return i;
    }
    return kWaitsForNothing;
  };
  check_exact(file);
  const Duration before = jumped(file)[0].step_time;
  ActionLists lists;
  std::vector<std::uint32_t> position(file.program.actions.size());
  lists.begin = {0};
  for (int rank = 0; rank < 2; ++rank) {
    for (std::uint32_t i = 0; i < file.program.actions.size(); ++i) {
      if (file.program.rank_of(file.program.actions[i]).value != rank) continue;
      position[i] = static_cast<std::uint32_t>(lists.actions.size());
      lists.actions.push_back(file.program.actions[i]);
      lists.actions.back().waits_for = kWaitsForNothing;
    }
    lists.begin.push_back(lists.actions.size());
  }
  lists.more_waits = {{position[index_of("1F0")], position[index_of("0F1")], true}};
  REQUIRE(order_actions(file.program, lists).empty());
  check_exact(file);
  CHECK(jumped(file)[0].step_time - before == std::chrono::milliseconds(1));
}

// With R the end of the last reduction, n the norm and o an update: the norm runs beside the first
// update, two more follow it.
TEST_CASE("a step whose check of the norm fails: update, check, take back, update again") {
  ExecutorModel executor;
  executor.optimizer = OptimizerGate::kRolledBack;
  for (const int norm : {0, 3, 30}) {
    PlanFile file =
        ring_plan(ring_model(3, true), plan_of("1f1b", {3, 1, 2, 4}), {2, 4, 1}, executor);
    file.prices.norm.duration = Duration{norm};
    for (StepPrice& step : file.prices.step) step.optimizer.duration = Duration{7};
    const auto updates =
        std::count_if(file.program.actions.begin(), file.program.actions.end(),
                      [](const Action& a) { return a.kind == ActionKind::kOptimizer; });
    CHECK(updates == 3 * 3);
    check_exact(file);
  }
  executor.optimizer = OptimizerGate::kPostValidation;
  check_exact(ring_plan(ring_model(3, true), plan_of("1f1b", {3, 1, 2, 4}), {2, 4, 1}, executor));
  // A rank alone has nobody to sum the norm with, and takes its time all the same.
  executor.optimizer = OptimizerGate::kRolledBack;
  PlanFile alone =
      ring_plan(ring_model(1, false), plan_of("1f1b", {1, 1, 1, 2}), {2, 4, 1}, executor);
  alone.prices.norm.duration = Duration{40};
  alone.prices.step[0].optimizer.duration = Duration{7};
  check_exact(alone);
  CHECK(jumped(alone)[0].step_time == std::chrono::milliseconds(12) + Duration{40 + 7 + 7});
}

// The lists of a plan whose ranks keep `slots` of their stages on the device: the one that was used
// longest ago makes room, is stored if it was changed, and comes back before it is used.
class Spilled {
 public:
  Spilled(Random& random, PlanFile file, int slots)
      : random_(random), file_(std::move(file)), slots_(static_cast<std::size_t>(slots)) {}

  PlanFile run() {
    ActionLists lists;
    lists.begin = {0};
    for (int rank = 0; rank < file_.program.ranks(); ++rank) {
      add_list(rank, lists);
      lists.begin.push_back(lists.actions.size());
    }
    for (Pipeline& pipeline : file_.program.pipelines) {
      pipeline.weight_slots = static_cast<int>(slots_);
    }
    for (StepPrice& step : file_.prices.step) {
      step.load.duration = Duration{random_.between(0, 9'000'000)};
      step.store.duration = Duration{random_.between(0, 9'000'000)};
    }
    REQUIRE(order_actions(file_.program, lists).empty());
    return file_;
  }

 private:
  void add_list(int rank, ActionLists& lists) {
    lists_ = &lists;
    resident_.clear();
    std::vector<StageId> first;
    for (const Action& listed : file_.program.actions) {
      if (file_.program.rank_of(listed).value != rank) continue;
      if (rule_of(listed.kind).slot != SlotUse::kNothing) {
        const bool fills = first.size() < slots_ && !is_one_of(first, listed.stage);
        if (fills) {
          first.push_back(listed.stage);
          resident_.push_back(listed.stage);
        }
        bring(listed.stage);
      }
      lists.actions.push_back(listed);
      lists.actions.back().waits_for = kWaitsForNothing;
    }
    for (const StageId stage : first) bring_for_next_step(stage, first);
  }

  static bool is_one_of(const std::vector<StageId>& stages, StageId stage) {
    return std::find(stages.begin(), stages.end(), stage) != stages.end();
  }

  void bring(StageId stage) {
    const auto found = std::find(resident_.begin(), resident_.end(), stage);
    if (found != resident_.end()) {
      std::rotate(found, found + 1, resident_.end());
      return;
    }
    drop(resident_.begin());
    add(ActionKind::kLoad, stage);
    resident_.push_back(stage);
  }
  void bring_for_next_step(StageId stage, const std::vector<StageId>& first) {
    if (is_one_of(resident_, stage)) return;
    drop(std::find_if(resident_.begin(), resident_.end(),
                      [&](StageId other) { return !is_one_of(first, other); }));
    add(ActionKind::kLoad, stage);
    resident_.push_back(stage);
  }
  void drop(std::vector<StageId>::iterator stage) {
    if (random_.coin()) add(ActionKind::kStore, *stage);
    add(ActionKind::kReshard, *stage);
    resident_.erase(stage);
  }
  void add(ActionKind kind, StageId stage) {
    Action action;
    action.kind = kind;
    action.stage = stage;
    lists_->actions.push_back(action);
  }

  Random& random_;
  PlanFile file_;
  std::size_t slots_;
  ActionLists* lists_ = nullptr;
  std::vector<StageId> resident_;  // the one used longest ago first
};

TEST_CASE("random pipelines with two slots per rank run to the nanosecond") {
  Random random(5);
  ExecutorModel executor;
  for (int i = 0; i < testing::draws(60); ++i) {
    executor.optimizer =
        random.coin() ? OptimizerGate::kPostValidation : OptimizerGate::kGlobalBarrier;
    executor.host_link = random.coin() ? HostLink::kSimplex : HostLink::kDuplex;
    const int chunks = random.between(3, 4);
    const char* schedule = random.coin() ? "interleaved" : "looped-bfs";
    const PlanFile file =
        ring_plan(ring_model(2 * chunks, random.coin()),
                  plan_of(schedule, {2, chunks, random.between(1, 2), 2 * random.between(1, 3)}),
                  {random.between(1, 4), random.between(1, 8), random.between(0, 2)}, executor);
    CAPTURE(i);
    const PlanFile spilled = Spilled(random, file, 2).run();
    CHECK(spilled.program.has_slots());
    check_exact(spilled);
  }
}

TEST_CASE("what ranks cannot wait for, or keep in slots, is refused") {
  PlanFile file = ring_plan(ring_model(2, false), plan_of("1f1b", {2, 1, 1, 2}), {2, 4, 1});
  std::uint32_t send = 0, backward = 0;
  for (std::uint32_t i = 0; i < file.program.actions.size(); ++i) {
    const std::string name = name_of(file.program, file.program.actions[i]);
    if (name == "0SEND_F0") send = i;
    if (name == "1B1") backward = i;
  }
  file.program.more_waits = {{backward, send, true}};
  CHECK_THROWS_WITH_AS(
      (void)jumped(file),
      "this plan cannot be run: 1B1 waits for 0SEND_F0 of another rank, which is no compute; let "
      "it wait for the compute before or behind that action",
      Error);
}

}  // namespace
}  // namespace penstock
