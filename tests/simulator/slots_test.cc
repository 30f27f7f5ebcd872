// Stages in slots: LOAD, STORE and RESHARD on copy lanes, and actions with several needs. Worked
// out on paper, and on random Programs against the oracle of the rules.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/order_actions.h"
#include "core/files/program_blocks.h"
#include "core/values/executor_model.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/jitter.h"
#include "simulator/replay.h"
#include "simulator/replay_lanes.h"
#include "simulator/simulate.h"
#include "tests/simulator/lists_by_the_rules.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::ActionTimes;
using testing::lists_by_the_rules;
using testing::Random;

// So many stages in one chain on one rank with slots.
Program one_rank(int stages, int slots) {
  Program program;
  program.schedule = "spilled";
  for (int s = 0; s < stages; ++s) {
    Stage stage;
    stage.weight_set = s;
    if (s > 0) stage.previous = StageId{static_cast<std::uint16_t>(s - 1)};
    if (s + 1 < stages) stage.next = StageId{static_cast<std::uint16_t>(s + 1)};
    program.stages.push_back(stage);
  }
  program.micro_batches.resize(1);
  Pipeline pipeline;
  pipeline.stages = stages;
  pipeline.weight_slots = slots;
  program.pipelines = {pipeline};
  return program;
}

// The names of one rank's actions, as plan files write them.
ActionLists list_of(const std::string& names) {
  ActionLists lists;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    const ListedAction listed = action_named(names.substr(at, end - at)).value();
    Action action;
    action.kind = listed.kind;
    action.stage = StageId{listed.stage};
    action.micro_batch = MicroBatchId{listed.micro_batch};
    lists.actions.push_back(action);
    at = end + 1;
  }
  lists.begin = {0, lists.actions.size()};
  return lists;
}
Program program_of(int stages, int slots, const std::string& names) {
  Program program = one_rank(stages, slots);
  REQUIRE(order_actions(program, list_of(names)).empty());
  return program;
}
std::string problem_of(int stages, int slots, const std::string& names) {
  Program program = one_rank(stages, slots);
  return order_actions(program, list_of(names));
}

StagePrices equal_copies(int stages, std::int64_t forward, std::int64_t backward,
                         std::int64_t optimizer, std::int64_t load, std::int64_t store) {
  StagePrices prices = testing::equal_prices(stages, 1, {forward, backward, 0, 0});
  for (ComputePrice& price : prices.compute) price.fused_backward.duration = Duration{backward};
  for (StepPrice& step : prices.step) {
    step.optimizer.duration = Duration{optimizer};
    step.load.duration = Duration{load};
    step.store.duration = Duration{store};
  }
  return prices;
}

std::vector<std::int64_t> nanoseconds(const std::vector<SimTime>& times) {
  std::vector<std::int64_t> result;
  for (const SimTime time : times) result.push_back(time.time_since_epoch().count());
  return result;
}

// All engines; equal to the oracle to the nanosecond.
Timeline by_all(const Program& program, const StagePrices& prices,
                const ExecutorModel& executor = {}) {
  const Timeline timeline = simulate(program, prices, executor);
  REQUIRE(timeline == simulate_by_worklist(program, prices, executor));
  REQUIRE(timeline == simulate_by_events(program, prices, executor));
  if (straight_replay_is_exact(executor)) {
    REQUIRE(timeline == replay(program, prices, executor));
    const ActionTimes rules = lists_by_the_rules(program, prices, executor);
    REQUIRE(nanoseconds(timeline.start) == rules.start);
    REQUIRE(nanoseconds(timeline.end) == rules.end);
    for (const Pipeline& pipeline : program.pipelines) {
      for (int r = pipeline.first_rank; r < pipeline.first_rank + pipeline.ranks; ++r) {
        REQUIRE(rules.most_slots[static_cast<std::size_t>(r)] <= pipeline.weight_slots);
      }
    }
  }
  const TimelineSummary summary = summarize(program, timeline);
  REQUIRE(summary == simulate_summary(program, prices, executor));
  StagePrices slower = prices;
  for (StepPrice& step : slower.step) step.load.duration *= 2;
  const std::vector<StagePrices> lanes = {prices, slower, prices, slower, prices};
  const auto summaries = replay_lanes(program, lanes, executor);
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    REQUIRE(summaries[k] == simulate_summary(program, lanes[k], executor));
  }
  StagePrices uneven = prices;
  for (ComputePrice& price : uneven.compute) price.forward.spread = Duration{2};
  for (StepPrice& step : uneven.step) step.load.spread = step.store.spread = Duration{3};
  const auto jittered = replay_jittered(program, uneven, {7, 0, 3}, executor);
  EventSimulation events(program, executor);
  for (std::size_t k = 0; k < jittered.size(); ++k) {
    const ActionDurations durations = jittered_durations(program, uneven, executor, 7, k);
    REQUIRE(jittered[k] == summarize(program, events.run(durations)));
  }
  return timeline;
}

std::string times(const Program& program, const Timeline& timeline, const std::string& name,
                  int occurrence = 1) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (name_of(program, program.actions[i]) != name || --occurrence > 0) continue;
    const auto ns = [](SimTime time) { return std::to_string(time.time_since_epoch().count()); };
    return ns(timeline.start[i]) + ".." + ns(timeline.end[i]);
  }
  return "none";
}
Duration step_of(const Program& program, const StagePrices& prices) {
  return by_all(program, prices).step_end - SimTime{};
}

// Hydra's example (one GPU, loads of 1/3 s, F = 0.2 s, B = 0.6 s, write-backs hidden): with two
// slots the loads precede F2, F3, B1 and B0, and stretch F1 and F2 to 1/3 s each.
constexpr std::int64_t kMs = 1'000'000;

TEST_CASE("the step of a spilled model is the closed form of double buffering") {
  const StagePrices four = equal_copies(4, 200 * kMs, 600 * kMs, 0, 333'333'333, 0);
  const Program reuse = program_of(
      4, 2,
      "0F0 0RESHARD 2LOAD 1F0 1RESHARD 3LOAD 2F0 3F0 3B0 3STORE 3RESHARD 1LOAD 2B0 2STORE "
      "2RESHARD 0LOAD 1B0 1STORE 0B0 0STORE");
  CHECK(step_of(reuse, four) == Duration{3'466'666'666});
  // Only stage 0 stays from one step to the next: six loads.
  const Program reload = program_of(
      4, 2,
      "0F0 0RESHARD 1LOAD 1F0 1RESHARD 2LOAD 2F0 2RESHARD 3LOAD 3F0 3B0 3STORE 3RESHARD 2LOAD "
      "2B0 2STORE 2RESHARD 1LOAD 1B0 1STORE 1RESHARD 0LOAD 0B0 0STORE");
  CHECK(step_of(reload, four) == Duration{3'599'999'999});
  // One slot: nothing is hidden, 3.2 s of compute and six loads.
  const Program single = program_of(
      4, 1,
      "0F0 0RESHARD 1LOAD 1F0 1RESHARD 2LOAD 2F0 2RESHARD 3LOAD 3F0 3B0 3STORE 3RESHARD 2LOAD "
      "2B0 2STORE 2RESHARD 1LOAD 1B0 1STORE 1RESHARD 0LOAD 0B0 0STORE");
  CHECK(step_of(single, four) == Duration{5'199'999'998});
  const StagePrices three = equal_copies(3, 200 * kMs, 600 * kMs, 0, 333'333'333, 0);
  const Program shorter = program_of(
      3, 2, "0F0 0RESHARD 2LOAD 1F0 2F0 2B0 2STORE 2RESHARD 0LOAD 1B0 1STORE 0B0 0STORE");
  CHECK(step_of(shorter, three) == Duration{2'533'333'333});
}

// F = 10, B = 20, OPT = 5, LOAD = 30, STORE = 40, two slots, three stages; 0 and 1 begin in a slot.
//   compute  F(0) 0..10  F(1) 10..20  F(2) 40..50  B(2) ..70  O(2) ..75  B(1) ..95  O(1) ..100
//   in       L(2) 10..40, when F(0) is done and its slot free
//   out      S(2) 75..115: only then its slot is free: L(0) 115..145, B(0) 145..165, O(0) ..170
//   duplex   S(1) 115..155 beside L(0), S(0) 170..210
//   simplex  S(1) 145..185 behind L(0), S(0) 185..225
constexpr const char* kThreeStages =
    "0F0 0RESHARD 2LOAD 1F0 2F0 2B0 2OPT 2STORE 2RESHARD 0LOAD 1B0 1OPT 1STORE 0B0 0OPT 0STORE";

TEST_CASE("copies share one lane, or have one for each direction") {
  const Program program = program_of(3, 2, kThreeStages);
  const StagePrices prices = equal_copies(3, 10, 20, 5, 30, 40);
  ExecutorModel executor;
  for (const HostLink link : {HostLink::kDuplex, HostLink::kSimplex}) {
    executor.host_link = link;
    const Timeline timeline = by_all(program, prices, executor);
    const auto at = [&](const std::string& name) { return times(program, timeline, name); };
    CHECK(at("2LOAD") == "10..40");
    CHECK(at("2F0") == "40..50");
    CHECK(at("2STORE") == "75..115");
    CHECK(at("2RESHARD") == "115..115");
    CHECK(at("0LOAD") == "115..145");
    CHECK(at("1B0") == "75..95");
    CHECK(at("0B0") == "145..165");
    const bool duplex = link == HostLink::kDuplex;
    CHECK(at("1STORE") == (duplex ? "115..155" : "145..185"));
    CHECK(at("0STORE") == (duplex ? "170..210" : "185..225"));
    const TimelineSummary summary = summarize(program, timeline);
    CHECK(summary.makespan == Duration{duplex ? 210 : 225});  // the last STORE counts
    CHECK(summary.ideal == Duration{105});
  }
}

TEST_CASE("an action may wait for any other, wherever it runs") {
  Program program = one_rank(2, 0);
  ActionLists lists = list_of("0F0 1F0 1B0 0B0 1OPT 0OPT");
  // Which says nothing new on one compute stream; on two ranks it would.
  lists.more_waits = {{3, 0, true}, {5, 4, true}};
  REQUIRE(order_actions(program, lists).empty());
  CHECK(program.more_waits == std::vector<Wait>{{3, 0, true}, {5, 4, true}});
  const StagePrices prices = equal_copies(2, 10, 20, 5, 0, 0);
  CHECK(step_of(program, prices) == Duration{70});
}

TEST_CASE("what slots cannot do is refused by the name of the action") {
  CHECK(problem_of(2, 1, "0F0 1F0 1B0 0B0") ==
        "rank 0 begins with stages 0, 1 on the device, and has 1 weight slots");
  CHECK(problem_of(2, 1, "0F0 1LOAD 1F0 1B0 0B0") ==
        "1LOAD finds no slot: stages 0 fill all 1; put the RESHARD of one of them before it");
  CHECK(problem_of(2, 1, "0F0 0RESHARD 1LOAD 1F0 1B0 0B0") ==
        "0B0 needs stage 0, which is in no slot there; put 0LOAD before it");
  CHECK(problem_of(2, 2, "0F0 0LOAD 1F0 1B0 0B0") ==
        "0LOAD: the stage is in a slot already; remove it, or put 0RESHARD before it");
  CHECK(problem_of(2, 0, "0F0 1LOAD 1F0 1B0 0B0") == "1LOAD on rank 0, which has no weight slots");
  Program program = one_rank(2, 2);
  program.rule = RunTimeRule::kVaruna;
  CHECK(order_actions(program, list_of("0F0 1F0 1B0 0B0")) ==
        "slots are taken in the order of the lists, which a run-time rule changes");
}

TEST_CASE("waits that no engine could keep are refused") {
  Program program = testing::lowered("1f1b", {2, 1, 1, 0});
  ActionLists lists;
  lists.begin = {0};
  for (int rank = 0; rank < 2; ++rank) {
    for (const Action& action : program.actions) {
      if (program.rank_of(action).value == rank) lists.actions.push_back(action);
    }
    lists.begin.push_back(lists.actions.size());
  }
  // 0F0 0SEND_F0 0RECV_B0 0B0, 1RECV_F0 1F0 1B0 1SEND_B0.
  lists.more_waits = {{4, 0, true}};
  CHECK(order_actions(program, lists).starts_with("1RECV_F0 waits for 0F0: a receive ends with"));
  lists.more_waits = {{0, 6, true}};
  CHECK(order_actions(program, lists).starts_with("the lists wait for each other: 0F0 waits for"));
}

// ---- random Programs ----------------------------------------------------------------------------

// Lists of a Program with LOAD, STORE and RESHARD put where stages are needed, and some earlier.
class RandomSlots {
 public:
  RandomSlots(Random& random, const Program& program) : random_(random), program_(program) {}

  // Nothing where a stage is stored between the members of a collective on its rank: then the list
  // waits for itself.
  std::optional<Program> run() {
    Program result = program_;
    result.actions.clear();
    const bool slots = random_.between(0, 4) > 0;
    for (Pipeline& pipeline : result.pipelines) {
      const int per_rank = pipeline.stages / pipeline.ranks;
      pipeline.weight_slots = slots ? random_.between(2, std::max(2, per_rank)) : 0;
    }
    ActionLists lists;
    lists.begin = {0};
    position_.assign(program_.actions.size(), 0);
    for (const Pipeline& pipeline : result.pipelines) {
      for (int r = pipeline.first_rank; r < pipeline.first_rank + pipeline.ranks; ++r) {
        fill(r, pipeline.weight_slots, lists);
        lists.begin.push_back(lists.actions.size());
      }
    }
    add_waits(lists);
    const std::string problem = order_actions(result, lists);
    CAPTURE(problem);
    if (problem.find("TIED_REDUCE") != std::string::npos) return std::nullopt;
    REQUIRE(problem.empty());
    return result;
  }

 private:
  void fill(int rank, int slots, ActionLists& lists) {
    residents_.clear();
    std::vector<StageId> all;
    for (std::size_t s = 0; s < program_.stages.size(); ++s) {
      if (program_.stages[s].rank.value == rank) {
        all.push_back(StageId{static_cast<std::uint16_t>(s)});
      }
    }
    // Those that it begins with are used before anything else, so that they are in a slot at once.
    for (std::size_t i = 0; i < program_.actions.size(); ++i) {
      const Action& action = program_.actions[i];
      if (program_.rank_of(action).value != rank) continue;
      const bool pair = action.overlaps_next;
      const bool second = i > 0 && program_.actions[i - 1].overlaps_next;
      if (slots > 0 && !second) {
        const StageId other = pair ? program_.actions[i + 1].stage : action.stage;
        if (needs(action.kind)) bring(action.stage, other, slots, lists);
        if (pair) bring(other, action.stage, slots, lists);
        if (!pair && random_.between(0, 4) == 0) prefetch(all, slots, lists);
      }
      position_[i] = static_cast<std::uint32_t>(lists.actions.size());
      lists.actions.push_back(action);
    }
  }
  static bool needs(ActionKind kind) {
    return is_compute(kind) || (is_collective(kind) && kind != ActionKind::kNorm);
  }
  void add(ActionKind kind, StageId stage, ActionLists& lists) {
    Action action;
    action.kind = kind;
    action.stage = stage;
    lists.actions.push_back(action);
  }
  void bring(StageId stage, StageId keep, int slots, ActionLists& lists) {
    if (std::find(residents_.begin(), residents_.end(), stage) != residents_.end()) return;
    if (static_cast<int>(residents_.size()) == slots) {
      std::size_t victim = 0;
      while (residents_[victim] == keep) ++victim;
      if (random_.coin() && victim + 1 < residents_.size() && residents_[victim + 1] != keep) {
        ++victim;
      }
      if (random_.coin()) add(ActionKind::kStore, residents_[victim], lists);
      add(ActionKind::kReshard, residents_[victim], lists);
      residents_.erase(residents_.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    add(ActionKind::kLoad, stage, lists);
    residents_.push_back(stage);
  }
  void prefetch(const std::vector<StageId>& all, int slots, ActionLists& lists) {
    if (static_cast<int>(residents_.size()) == slots) {
      if (random_.coin()) add(ActionKind::kStore, residents_[0], lists);
      return;
    }
    const auto pick =
        static_cast<std::size_t>(random_.between(0, static_cast<int>(all.size()) - 1));
    bring(all[pick], all[pick], slots, lists);
  }

  // For something that came earlier in the Program, so that nothing goes round.
  void add_waits(ActionLists& lists) {
    const int count = static_cast<int>(program_.actions.size());
    for (int k = random_.between(0, 6); k > 0; --k) {
      const auto i = static_cast<std::size_t>(random_.between(0, count - 1));
      const auto needed = static_cast<std::size_t>(random_.between(0, static_cast<int>(i)));
      const Action &a = program_.actions[i], &b = program_.actions[needed];
      const bool one_pipeline =
          program_.stages[a.stage.value].pipeline == program_.stages[b.stage.value].pipeline;
      const bool pair = needed + 1 == i && b.overlaps_next;
      if (needed == i || pair || is_receive(a.kind) || is_collective(b.kind) || !one_pipeline) {
        continue;
      }
      lists.more_waits.push_back({position_[i], position_[needed], true});
    }
  }

  Random& random_;
  const Program& program_;
  std::vector<StageId> residents_;
  std::vector<std::uint32_t> position_;  // by action of the Program
};

StagePrices with_copies(Random& random, StagePrices prices) {
  for (StepPrice& step : prices.step) {
    step.load.duration = Duration{random.between(0, 9)};
    step.store.duration = Duration{random.between(0, 9)};
  }
  return prices;
}

TEST_CASE(
    "random Programs with slots and several needs run alike in all engines and by the rules") {
  Random random(11);
  int ran = 0, loads = 0, several = 0, listed = 0;
  for (int i = 0; i < testing::draws(600); ++i) {
    const auto [plain, plain_prices] = testing::random_program(random, {random.coin()});
    const std::optional<Program> with_slots = RandomSlots(random, plain).run();
    if (!with_slots) continue;
    const Program& program = *with_slots;
    const StagePrices prices = with_copies(random, plain_prices);
    ExecutorModel executor;
    if (random.coin()) executor.host_link = HostLink::kSimplex;
    if (random.coin()) executor.per_action = Duration{random.between(0, 3)};
    ++ran;
    (void)by_all(program, prices, executor);
    for (const Action& action : program.actions) loads += action.kind == ActionKind::kLoad ? 1 : 0;
    for (const Wait& wait : program.more_waits) (wait.listed ? listed : several) += 1;
  }
  CHECK(ran > testing::least(500));
  CHECK(loads > testing::least(2000));
  CHECK(several > testing::least(1000));
  CHECK(listed > testing::least(500));
}

TEST_CASE("the general engines agree on slots under every executor model") {
  Random random(12);
  int ran = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    const auto [plain, plain_prices] = testing::random_program(random, {random.coin()});
    const std::optional<Program> with_slots = RandomSlots(random, plain).run();
    if (!with_slots) continue;
    const Program& program = *with_slots;
    const StagePrices prices = with_copies(random, plain_prices);
    ExecutorModel executor;
    executor.transfer = static_cast<TransferMode>(random.between(0, 2));
    executor.queues = static_cast<QueueLayout>(random.between(0, 3));
    executor.receive_must_be_posted = random.coin();
    executor.host_link = random.coin() ? HostLink::kSimplex : HostLink::kDuplex;
    if (deadlock(program, executor)) continue;
    ++ran;
    (void)by_all(program, prices, executor);
  }
  CHECK(ran > testing::least(100));
}

}  // namespace
}  // namespace penstock
