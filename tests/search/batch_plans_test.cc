// Plans whose micro-batches differ in shape: replayed, judged by the checker, and by the oracle of
// the simulator's tests, to the nanosecond and byte.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/error.h"
#include "costmodel/price_stages.h"
#include "search/evaluate.h"
#include "search/plan_program.h"
#include "tests/core/eight_shapes_plan.h"
#include "tests/search/models.h"
#include "tests/simulator/by_the_rules.h"
#include "tests/simulator/lists_by_the_rules.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::by_the_rules;
using testing::eight_shapes;
using testing::Random;

PlanFile read(const std::string& text) { return read_plan(parse_json(text, "t"), "t"); }
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}
std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.substr(message.find(": ") + 2);
  }
  return "accepted";
}

// What a plan's micro-batches ask of the oracle: the shape of each, counted in its pipeline.
std::vector<int> shapes_of(const RolledInput& pipeline) {
  std::vector<int> shapes;
  for (const MicroBatchRun& run : pipeline.micro_batches) {
    shapes.insert(shapes.end(), static_cast<std::size_t>(run.count), run.each.shape);
  }
  return shapes;
}

// When the last F, B or W of the pipeline ends.
Duration end_of_compute(const Program& program, const Timeline& timeline, int pipeline) {
  Duration end{};
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    const bool counts = is_compute(action.kind) && action.kind != ActionKind::kOptimizer;
    if (!counts || program.stages[action.stage.value].pipeline != pipeline) continue;
    end = std::max(end, timeline.end[i].time_since_epoch());
  }
  return end;
}

// One or two kinds of replicas, up to `most` micro-batches of up to eight shapes each.
Batch random_batch(Random& random, int most) {
  Batch batch;
  const int kinds = random.between(1, 2);
  for (int kind = 0; kind < kinds; ++kind) {
    const int first = static_cast<int>(batch.shapes.size()), shapes = random.between(1, 8);
    for (int i = 0; i < shapes; ++i) batch.shapes.push_back({random.between(1, 9), 0, 0});
    ReplicaBatch& replicas = batch.replicas.emplace_back();
    replicas.replicas = random.between(1, 2);
    const int micro_batches = std::max(shapes, random.between(1, most));
    for (int m = 0; m < micro_batches; ++m) {
      const int shape = first + (m < shapes ? m : random.between(0, shapes - 1));
      if (!replicas.runs.empty() && replicas.runs.back().shape == shape) {
        ++replicas.runs.back().count;
      } else {
        replicas.runs.push_back({1, shape});
      }
    }
    const int at = random.between(0, static_cast<int>(replicas.runs.size()) - 1);
    std::rotate(replicas.runs.begin(), replicas.runs.begin() + at, replicas.runs.end());
  }
  return batch;
}

}  // namespace

TEST_CASE("eight shapes written by hand replay and check as worked out on paper") {
  const PlanFile file = read(eight_shapes());
  CHECK(file.plan.global_batch == 36);
  CHECK(tokens_per_step(file.plan) == 16 * (3 + 2 + 24 + 8 + 25 + 42 + 28 + 48));
  const CheckReport report = check(file);
  CHECK(report.findings == std::vector<Finding>{});
  CHECK(report.replayed == Duration{161'710});
  CHECK(report.memory == std::vector{Bytes{10 + 11 + 12 + 120 + 56 + 280 + 50},
                                     Bytes{10 + 11 + 12 + 160 + 64 + 280 + 50}});
  const Replayed replayed = replay_plan_file(file);
  CHECK(replayed.evaluation.step_time == Duration{161'710});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(replayed.evaluation.ranks[rank].memory == file.prediction.ranks[rank].memory);
    CHECK(replayed.evaluation.ranks[rank].time.busy == Duration{108'100});
  }
  // Every action, with transfers, NORM and OPT, by the oracle that takes the lists literally.
  const testing::ActionTimes rules =
      testing::lists_by_the_rules(file.program, file.prices, file.executor);
  REQUIRE(rules.end.size() == file.program.actions.size());
  for (std::size_t i = 0; i < rules.end.size(); ++i) {
    CHECK(replayed.timeline.start[i] == SimTime{Duration{rules.start[i]}});
    CHECK(replayed.timeline.end[i] == SimTime{Duration{rules.end[i]}});
  }
  const Schedule schedule = make_schedule("1f1b", {2, 1, 8});
  CHECK(by_the_rules(schedule, file.prices, {0, 1, 2, 3, 4, 5, 6, 7}) == Duration{161'600});
  CHECK(end_of_compute(file.program, replayed.timeline, 0) == Duration{161'600});
  const Json written = write_plan(file);
  CHECK(read_plan(parse_json(to_text(written), "t"), "t") == file);
}

TEST_CASE("the checker finds a batch that is not the plan's, a byte and a nanosecond") {
  const std::string text = eight_shapes();
  const auto first_finding = [&](const std::string& from, const std::string& to) {
    const CheckReport report = check(read(with(text, from, to)));
    REQUIRE(!report.findings.empty());
    return report.findings[0].place + ": " + report.findings[0].message;
  };
  CHECK(first_finding(R"("count": 1, "samples": 8,)", R"("count": 1, "samples": 7,)") ==
        "/program/pipelines: samples of all replicas: expected 36, found 35");
  CHECK(first_finding(R"("sequence_length": 48,)", R"("sequence_length": 47,)") ==
        "micro-batch 2: sequence length: expected 48, found 47");
  CHECK(first_finding(R"({"count": 1, "shape": 0}, {"count": 1, "shape": 1})",
                      R"({"count": 1, "shape": 1}, {"count": 1, "shape": 0})") ==
        "micro-batch 0: shape by the plan's batch: expected 1, found 0");
  CHECK(first_finding(R"("stash_bytes": 120, "working_peak_bytes": 56)",
                      R"("stash_bytes": 160, "working_peak_bytes": 56)") ==
        "rank 0: stash: expected 120 bytes, the prediction says 160");
  CHECK(first_finding(R"("communication_bytes": 280)", R"("communication_bytes": 279)") ==
        "rank 0: communication: expected 280 bytes, the prediction says 279");
  const CheckReport slower =
      check(read(with(text, R"("forward_ns": 6000)", R"("forward_ns": 6001)")));
  CHECK(slower.replayed == Duration{161'711});
  CHECK_FALSE(slower.findings.empty());
}

TEST_CASE("refused: a batch that contradicts itself or the rest of the plan") {
  const std::string text = eight_shapes();
  CHECK(refusal(with(text, R"("data": 1)", R"("data": 2)")) ==
        "/plan/batch: its entries have 1 replicas in all, but 'data' is 2");
  CHECK(refusal(with(text, R"("batch": {)", R"("global_batch": 36, "batch": {)")) ==
        "/plan/global_batch: 'batch' says it; leave this key out");
  CHECK(refusal(with(text, R"({"count": 1, "shape": 7})", R"({"count": 1, "shape": 6})")) ==
        "/plan/batch/replicas: no replica takes shape 7");
  CHECK(refusal(with(text, R"({"count": 1, "shape": 7})", R"({"count": 1, "shape": 8})")) ==
        "/plan/batch/replicas/0/micro_batches/7/shape: expected an integer from 0 to 7, got 8");
  CHECK(refusal(with(text, R"({"count": 1, "shape": 7})", R"({"count": 2147483647, "shape": 7})"))
            .find("more micro-batches than a plan can have") != std::string::npos);
  CHECK(refusal(with(text, "penstock.plan/2", "penstock.plan/1")) ==
        "/format: a plan with a 'batch' is \"penstock.plan/2\"");
}

TEST_CASE("an even batch written out as runs costs what it costs as numbers, but for transfers") {
  Random random(14);
  int compared = 0;
  for (int i = 0; i < testing::draws(150); ++i) {
    const ModelProfile model = testing::random_model(random, 6);
    const ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    Plan plan;
    plan.pipeline = random.between(1, 3);
    plan.data = random.between(1, 2);
    plan.micro_batch_size = random.between(1, 3);
    plan.global_batch = plan.data * plan.micro_batch_size * random.between(1, 6);
    plan.schedule = random.coin() ? "1f1b" : random.coin() ? "gpipe" : "zb-h1";
    plan.device = "gpu";
    const PlanInputs inputs{&model, &cluster, {}, {}};
    const EvaluatedPlan even = evaluate(inputs, plan);
    if (even.evaluation.ranks.empty()) continue;
    Plan written_out = even.plan;
    set_batch(written_out, batch_of(even.plan));
    EvaluatedPlan runs = evaluate(inputs, written_out);
    REQUIRE(runs.prices == even.prices);
    // Only the former has room for what is posted ahead (transfer_room.h).
    REQUIRE(runs.evaluation.ranks.size() == even.evaluation.ranks.size());
    for (std::size_t r = 0; r < runs.evaluation.ranks.size(); ++r) {
      Bytes& transfers = runs.evaluation.ranks[r].memory.communication;
      CHECK(transfers >= even.evaluation.ranks[r].memory.communication);
      transfers = even.evaluation.ranks[r].memory.communication;
    }
    REQUIRE(runs.evaluation == even.evaluation);
    if (even.why_not) REQUIRE(runs.why_not.has_value());
    ++compared;
  }
  CHECK(compared > testing::least(80));
}

TEST_CASE("random batches of many shapes: evaluation, replay, checker and oracle agree") {
  Random random(15);
  int compared = 0, unequal = 0, unlike_counts = 0;
  for (int i = 0; i < testing::draws(200); ++i) {
    const ModelProfile model = testing::random_model(random, 6);
    const ClusterSpec cluster = testing::random_cluster(random, 4, 4);
    const Schedule any = testing::random_schedule(random, 3, 6);
    Plan plan;
    plan.schedule = any.name;
    plan.pipeline = any.ranks;
    plan.chunks = any.stages() / any.ranks;
    plan.zero1 = random.coin();
    plan.device = "gpu";
    set_batch(plan, random_batch(random, 12));
    if (plan.stages() > 6 || plan.devices() > 16 || !why_no_program(plan).empty()) continue;
    const PlanInputs inputs{&model, &cluster, {}, {}};
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (evaluated.evaluation.ranks.empty()) continue;
    CAPTURE(plan.schedule);
    const PlanFile file = to_plan_file(inputs, evaluated);
    const PlanFile again = read_plan(parse_json(to_text(write_plan(file)), "t"), "t");
    REQUIRE(again.plan == file.plan);
    REQUIRE(again.prices == file.prices);
    REQUIRE(again.prediction == file.prediction);
    REQUIRE(to_text(write_plan(again)) == to_text(write_plan(file)));
    const Replayed replayed = replay_plan_file(again);
    REQUIRE(replayed.evaluation.step_time == file.prediction.step_time);
    REQUIRE(replayed.evaluation.longest_span == file.prediction.longest_span);
    REQUIRE(replayed.evaluation.ranks == file.prediction.ranks);
    const CheckReport report = check(file);
    REQUIRE(report.replayed == file.prediction.step_time);
    for (std::size_t r = 0; r < report.memory.size(); ++r) {
      REQUIRE(report.memory[r] == file.prediction.ranks[r].memory.total());
    }
    if (!evaluated.why_not) REQUIRE(report.findings == std::vector<Finding>{});
    const PlanSchedules schedules = schedules_in(file);
    for (std::size_t p = 0; p < schedules.pipelines.size() && !evaluated.recomputes; ++p) {
      if (schedules.schedules[p].rule != RunTimeRule::kNone) continue;
      const Duration oracle =
          by_the_rules(schedules.schedules[p], file.prices, shapes_of(schedules.pipelines[p]));
      REQUIRE(end_of_compute(again.program, replayed.timeline, static_cast<int>(p)) == oracle);
      ++unlike_counts;
    }
    unequal += plan.has_unequal_replicas() ? 1 : 0;
    ++compared;
  }
  CHECK(compared > testing::least(60));
  CHECK(unequal > testing::least(15));
  CHECK(unlike_counts > testing::least(60));
}

TEST_CASE("a shape between measured sizes is priced as the profile is interpolated") {
  const ModelProfile model = testing::model_of_sections({{4, 6, 0, 10, 3, 5}, {1, 1, 0, 1, 1, 1}});
  const ClusterSpec cluster = testing::cluster_of({1, 1, 1'000'000, 1e18});
  Plan plan;
  plan.device = "gpu";
  set_batch(plan, {{{3, 0, 0}, {5, 0, 0}}, {{1, {{2, 0}, {1, 1}}}}});
  const EvaluatedPlan evaluated = evaluate({&model, &cluster, {}, {}}, plan);
  REQUIRE(!evaluated.why_not);
  for (const int shape : {0, 1}) {
    const int samples = shape == 0 ? 3 : 5;
    const SectionTable table = price_sections(model, cluster, "gpu", 1, samples, 0, "none");
    CHECK(evaluated.prices.compute_of(0, shape).forward.duration ==
          table.sections[0].price.forward.duration + table.sections[1].price.forward.duration);
    CHECK(evaluated.prices.compute_of(0, shape).forward.duration ==
          Duration{std::int64_t{samples} * 5'000});
  }
  plan.batch.shapes[1].decoder_tokens = 7;
  const EvaluatedPlan with_decoder = evaluate({&model, &cluster, {}, {}}, plan);
  REQUIRE(with_decoder.why_not);
  CHECK(with_decoder.why_not->reason.find("decoder_tokens") != std::string::npos);
}

}  // namespace penstock
