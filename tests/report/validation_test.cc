#include "report/validation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "report/screen.h"
#include "simulator/simulate.h"
#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

PlanFile tiny() { return read_plan(parse_json(kTinyPlan, "tiny.json"), "tiny.json"); }

Timeline replay(const PlanFile& plan) { return simulate(plan.program, plan.prices, plan.executor); }

// One replica that runs exactly as predicted, every time multiplied.
MeasuredStep measured(const PlanFile& plan, std::int64_t step, int numerator, int denominator) {
  const Timeline timeline = replay(plan);
  MeasuredStep out;
  out.step = step;
  out.step_time = timeline.step_end.time_since_epoch() * numerator / denominator;
  for (int r = 0; r < plan.program.ranks(); ++r) {
    MeasuredRank rank;
    rank.rank = rank.pipeline_rank = r;
    for (std::size_t i = 0; i < plan.program.actions.size(); ++i) {
      if (plan.program.rank_of(plan.program.actions[i]).value != r) continue;
      rank.start.push_back(timeline.start[i].time_since_epoch() * numerator / denominator);
      rank.end.push_back(timeline.end[i].time_since_epoch() * numerator / denominator);
    }
    out.ranks.push_back(std::move(rank));
  }
  return out;
}

RunLog run_of(std::vector<MeasuredStep> steps) {
  RunLog run;
  run.header.ranks = 2;
  run.steps = std::move(steps);
  return run;
}

Validation validated(const RunLog& run, const ValidationOptions& options) {
  const PlanFile plan = tiny();
  return validate(plan, replay(plan), run, options, "run.jsonl");
}

std::string complaint(const RunLog& run, const ValidationOptions& options) {
  return tests::message_of([&] { static_cast<void>(validated(run, options)); });
}

TEST_CASE("a run that is exactly as predicted has no error anywhere") {
  const PlanFile plan = tiny();
  const RunLog run = run_of({measured(plan, 0, 5, 1), measured(plan, 1, 1, 1)});
  const Validation v = validated(run, {.warm_up = 1, .tolerance = 0.0});
  CHECK(v.steps == 1);
  CHECK(v.predicted == Duration{10'110});
  CHECK(v.error == 0.0);
  CHECK(v.holds());
  for (const ActionComparison& action : v.actions) {
    CHECK(action.predicted_start == action.measured_start);
    CHECK(action.predicted_end == action.measured_end);
  }
  // Both ranks compute for 2 * 1 + 2 * 2 us + 100 ns.
  REQUIRE(v.ranks.size() == 2);
  CHECK(v.ranks[0].predicted_busy == Duration{6'100});
  CHECK(v.ranks[1].measured_busy == Duration{6'100});
}

// F 1,000 + 7, B 2,000 + 7, OPT 100 + 7 ns: the executor's cost per action is part of each.
TEST_CASE("what the executor adds to an action is predicted of the optimizer too") {
  const PlanFile plan = tiny_plan({{R"("per_action_ns": 0)", R"("per_action_ns": 7)"}});
  const RunLog run = run_of({measured(plan, 0, 1, 1)});
  const Validation v = validate(plan, replay(plan), run, {.warm_up = 0}, "run.jsonl");
  int optimizers = 0;
  for (const KindComparison& kind : v.kinds) {
    CHECK(kind.predicted == kind.measured);
    if (kind.kind != ActionKind::kOptimizer) continue;
    ++optimizers;
    CHECK(kind.predicted == Duration{107});
  }
  CHECK(optimizers == 2);
}

TEST_CASE("the step time is the median of the steps after the warm-up") {
  // 1x, 2x, 2x and 10x of 10,110 ns: the median of the last three is 20,220, so that the prediction
  // is half of it: an error of -50 %.
  const PlanFile plan = tiny();
  const RunLog run = run_of({measured(plan, 0, 1, 1), measured(plan, 1, 2, 1),
                             measured(plan, 2, 10, 1), measured(plan, 3, 2, 1)});
  const Validation v = validated(run, {.warm_up = 1, .tolerance = 0.1});
  CHECK(v.measured == Duration{20'220});
  CHECK(v.error == -0.5);
  CHECK_FALSE(v.holds());
  CHECK(v.measured_spread == Duration{0});
  CHECK(v.slowest == Duration{101'100});
  // F of stage 0 takes 1 us; measured 2, 10, 2 us, twice each.
  REQUIRE_FALSE(v.kinds.empty());
  CHECK(v.kinds[0].kind == ActionKind::kForward);
  CHECK(v.kinds[0].count == 2);
  CHECK(v.kinds[0].predicted == Duration{1'000});
  CHECK(v.kinds[0].measured == Duration{2'000});
  CHECK(v.kinds[0].slowest == Duration{10'000});
  const std::string text = validation_report(v, run.header, Screen{});
  CHECK(text.find("50.0 % too short; the tolerance of 10.0 % does NOT hold") != std::string::npos);
}

// Rank 1 computes F1 and B0 as a pair: 1 + 2 us less 0.5.
//
//   us      0    1    2    3    4    5    6    7    8    9   10
//   rank 0  |F0  |F1  |               |B0       |B1       |NORM, OPT
//   rank 1  |      |F0  |F1;B0      |B1       |
//
// F0 and F1 arrive at 1.5 and 2.5 us; the pair runs from 2.5 to 5 us, B1 to 7 us; the gradients
// arrive at 5.5 and 7.5 us, and B1 of rank 0 ends at 9.5 us: with NORM and OPT the step takes 9,610
// ns. The ranks that run compute one after the other: F1 to 3.5, B0 to 5.5, B1 to 7.5 us, so that
// B0 and B1 of rank 0 begin and end half a microsecond later, and the step takes 10,110 ns.
PlanFile overlapping() {
  return tiny_plan(
      {{kRank1, R"(["1RECV_F0", "1F0", "1RECV_F1", "(1F1;1B0)OVERLAP_F_B", "1SEND_B0", "1B1",
                    "1SEND_B1"])"},
       {R"("recompute_ns": 0, "overlap_gain_ns": 0,)",
        R"("recompute_ns": 0, "overlap_gain_ns": 500,)"}});
}

void ran(const PlanFile& plan, MeasuredRank& rank, const std::string& action, int start, int end) {
  const std::vector<std::string> names = list_of(plan.program, rank.rank);
  const auto found = std::find(names.begin(), names.end(), action);
  REQUIRE(found != names.end());
  const auto i = static_cast<std::size_t>(found - names.begin());
  rank.start[i] = Duration{start};
  rank.end[i] = Duration{end};
}

const KindComparison& kind_of(const Validation& v, ActionKind kind, int stage) {
  const auto found = std::find_if(v.kinds.begin(), v.kinds.end(), [&](const KindComparison& k) {
    return k.kind == kind && k.stage == stage;
  });
  REQUIRE(found != v.kinds.end());
  return *found;
}

// 1x, 2x, 4x, 8x and 9x of 10,110 ns: the median is 4x, and the steps are 3, 2, 0, 4 and 5 of these
// away from it.
TEST_CASE("the spread of the steps is their median distance from the median, on either side") {
  const PlanFile plan = tiny();
  std::vector<MeasuredStep> steps;
  for (const int times : {1, 2, 4, 8, 9}) {
    steps.push_back(measured(plan, static_cast<std::int64_t>(steps.size()), times, 1));
  }
  const Validation v = validated(run_of(std::move(steps)), {.warm_up = 0});
  CHECK(v.measured == Duration{40'440});
  CHECK(v.measured_spread == Duration{30'330});
}

TEST_CASE("a pair that was planned to overlap is compared with its two actions, each alone") {
  const PlanFile plan = overlapping();
  MeasuredStep step = measured(plan, 0, 1, 1);
  CHECK(step.step_time == Duration{9'610});
  step.step_time = Duration{10'110};
  ran(plan, step.ranks[1], "1F1", 2'500, 3'500);
  ran(plan, step.ranks[1], "1B0", 3'500, 5'500);
  ran(plan, step.ranks[1], "1B1", 5'500, 7'500);
  ran(plan, step.ranks[0], "0B0", 6'000, 8'000);
  ran(plan, step.ranks[0], "0B1", 8'000, 10'000);
  for (MeasuredRank& rank : step.ranks) {
    const std::string stage = std::to_string(rank.rank);
    ran(plan, rank, stage + "NORM", 10'000, 10'010);
    ran(plan, rank, stage + "OPT", 10'010, 10'110);
  }
  step.ranks[0].sections = {{ActionKind::kUnshard, 0, Duration{0}, Duration{100}},
                            {ActionKind::kUnshard, 1, Duration{50}, Duration{250}}};
  const Validation v = validate(plan, replay(plan), run_of({step}), {.warm_up = 0}, "run.jsonl");
  // What sections gather is measured beside compute: 100 and 200 ns, two per step.
  CHECK(v.sections == std::vector<SectionComparison>{{.kind = ActionKind::kUnshard,
                                                      .count = 2,
                                                      .measured = Duration{100},
                                                      .fastest = Duration{100},
                                                      .slowest = Duration{200}}});
  CHECK(v.predicted == Duration{9'610});
  CHECK(v.error == -500.0 / 10'110.0);
  // In the timeline either lasts 2.5 us, which no rank can be measured at.
  const KindComparison& forward = kind_of(v, ActionKind::kForward, 1);
  CHECK(forward.predicted == Duration{1'000});
  CHECK(forward.slowest == Duration{1'000});
  const KindComparison& backward = kind_of(v, ActionKind::kFusedBackward, 1);
  CHECK(backward.predicted == Duration{2'000});
  CHECK(backward.slowest == Duration{2'000});
  CHECK(v.ranks[1].predicted_busy == Duration{6'100});
  CHECK(v.ranks[1].measured_busy == Duration{6'100});
  CHECK(v.ranks[1].predicted_end == Duration{9'610});
  CHECK(v.ranks[1].measured_end == Duration{10'110});
}

// The first activation takes 2 us instead of 0.5, most of it while rank 0 computes F1; nobody says
// here what that does to the others.
TEST_CASE("a transfer that runs beside compute counts as a transfer and not as compute") {
  const PlanFile plan = tiny();
  MeasuredStep step = measured(plan, 0, 1, 1);
  ran(plan, step.ranks[0], "0SEND_F0", 1'000, 3'000);
  const Validation v = validated(run_of({step}), {.warm_up = 0, .tolerance = 0.1});
  const KindComparison& sends = kind_of(v, ActionKind::kSendActivation, 0);
  CHECK(sends.count == 2);
  CHECK(sends.predicted == Duration{500});
  CHECK(sends.fastest == Duration{500});
  CHECK(sends.slowest == Duration{2'000});
  CHECK(v.ranks[0].measured_busy == v.ranks[0].predicted_busy);
  for (const KindComparison& kind : v.kinds) CHECK_FALSE(is_receive(kind.kind));
}

TEST_CASE("without times of actions the step time is all there is") {
  const PlanFile plan = tiny();
  MeasuredStep step = measured(plan, 0, 1, 1);
  step.ranks.clear();
  const RunLog run = run_of({step});
  const Validation v = validated(run, {.warm_up = 0, .tolerance = 0.1});
  CHECK(v.traced_steps == 0);
  CHECK(v.kinds.empty());
  RunHeader header = run.header;
  header.plan_hash = "fnv1a64:0123456789abcdef";
  CHECK(validation_report(v, header, Screen{}).find("--timeline") != std::string::npos);
  // The log of another trainer names no plan, and cannot be told to hold more.
  header.plan_hash.clear();
  CHECK(validation_report(v, header, Screen{}).find("profiler") != std::string::npos);
}

// 1.5 GiB where 2 were held: a quarter too little. What was not measured has no error.
TEST_CASE("measured memory stands beside the predicted one") {
  Validation v = validated(run_of({measured(tiny(), 0, 1, 1)}), {.warm_up = 0, .tolerance = 0.1});
  v.memory = {{0, Bytes{3LL << 29}, Bytes{2LL << 30}, Bytes{5LL << 29}},
              {-1, Bytes{3LL << 29}, std::nullopt, Bytes{5LL << 29}}};
  const std::string text = validation_report(v, {}, Screen{});
  CHECK(text.find("   0        1.5        2.0  -25.0 %       2.5") != std::string::npos);
  CHECK(text.find("fullest        1.5          -        -       2.5") != std::string::npos);
}

TEST_CASE("a run of another plan, and one without steps, are refused") {
  const PlanFile plan = tiny();
  CHECK(complaint(run_of({measured(plan, 0, 1, 1)}), {.warm_up = 3, .tolerance = 0.1})
            .find("run.jsonl: 1 steps, and the first 3 are warm-up") == 0);
  MeasuredStep shorter = measured(plan, 4, 1, 1);
  shorter.ranks[1].start.pop_back();
  shorter.ranks[1].end.pop_back();
  CHECK(complaint(run_of({shorter}), {.warm_up = 0, .tolerance = 0.1})
            .find("run.jsonl: step 4, rank 1: it ran") == 0);
  MeasuredStep other = measured(plan, 4, 1, 1);
  other.ranks[1].pipeline = 1;
  CHECK(complaint(run_of({other}), {.warm_up = 0, .tolerance = 0.1})
            .find("it ran pipeline 1, but the plan has 1") != std::string::npos);
}

}  // namespace
}  // namespace penstock
