// Whole plans of batches: what a person expects of small ones, what must hold of random ones, and
// real ones before the judge of plan files.
#include "search/dynamic/plan_batch.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/check/transfer_streams.h"
#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "search/dynamic/profile_costs.h"
#include "tests/search/dynamic/toy_costs.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::kPlenty;
using testing::Random;
using testing::random_toy;
using testing::Toy;
using testing::ToyCosts;
using testing::ToyNumbers;

// Every sample once; weights of all micro-batches add up to 1.
void check_samples(const BatchPlan& plan, std::size_t samples) {
  std::vector<int> seen;
  double weight = 0.0;
  std::int64_t real = 0;
  for (const PlannedReplica& replica : plan.replicas) {
    CHECK(!replica.micro_batches.empty());
    for (const PlannedMicroBatch& micro_batch : replica.micro_batches) {
      weight += micro_batch.weight;
      real += micro_batch.real_tokens;
      for (const std::vector<int>& row : micro_batch.rows) {
        seen.insert(seen.end(), row.begin(), row.end());
      }
      const auto& shape =
          plan.evaluated.plan.batch.shapes[static_cast<std::size_t>(micro_batch.shape)];
      CHECK(shape.samples == static_cast<int>(micro_batch.rows.size()));
    }
  }
  std::sort(seen.begin(), seen.end());
  std::vector<int> all(samples);
  std::iota(all.begin(), all.end(), 0);
  CHECK(seen == all);
  CHECK(weight == doctest::Approx(1.0));
  CHECK(real == plan.real_tokens);
  CHECK(plan.real_tokens <= plan.padded_tokens);
}

std::int64_t fullest(const BatchPlan& plan) {
  return plan.evaluated.evaluation.peak_memory().count;
}

// Everything that a plan decides and says.
std::string told(const BatchPlan& plan) {
  std::string text = plan.evaluated.plan.schedule + plan.why_not + plan.evaluated.plan.recompute +
                     std::to_string(plan.makespan().count()) + "," + std::to_string(fullest(plan));
  for (const PlannedReplica& replica : plan.replicas) {
    text += "|";
    for (const PlannedMicroBatch& micro_batch : replica.micro_batches) {
      text += " " + std::to_string(micro_batch.shape) + ":";
      for (const auto& row : micro_batch.rows) {
        for (const int sample : row) text += std::to_string(sample) + ",";
      }
    }
  }
  return text;
}

}  // namespace

// One stage, D = 1: no bubble. b E tokens cost 3 (1,000 + 100 b E) ns in all. Samples of 8, 8, 64:
// together 3 * 64 tokens take 60,600 ns; {64} and {8, 8} take 22,200 + 7,800 = 30,000; apart the
// short ones would take 5,400 each.
TEST_CASE("long and short samples part, short ones share a micro-batch") {
  Toy toy(testing::toy_layout(1), {}, kPlenty);
  const BatchPlan plan = plan_batch(toy.question, {{8, 0}, {64, 0}, {8, 0}});
  REQUIRE(plan.why_not.empty());
  CHECK(plan.makespan() == Duration{30'000});
  CHECK(plan.objective_ns == 30'000.0);
  CHECK(plan.longest_ns == 22'200.0);
  CHECK(plan.real_tokens == 80);
  CHECK(plan.padded_tokens == 80);
  check_samples(plan, 3);
  // 64 of 80 tokens and 16 of 80.
  std::vector<double> weights;
  for (const auto& micro_batch : plan.replicas[0].micro_batches) {
    weights.push_back(micro_batch.weight);
  }
  std::sort(weights.begin(), weights.end());
  CHECK(weights == std::vector<double>{0.2, 0.8});
}

TEST_CASE("micro-batches of 10 and 30 tokens weigh 0.25 and 0.75") {
  Toy toy(testing::toy_layout(1), {}, kPlenty);
  toy.question.rounding = {1, 0, 2, 1};
  toy.question.method = BatchMethod::kFixedSize;
  const BatchPlan plan = plan_batch(toy.question, {{10, 0}, {30, 0}});
  REQUIRE(plan.replicas.size() == 1);
  for (const PlannedMicroBatch& micro_batch : plan.replicas[0].micro_batches) {
    CHECK(micro_batch.weight == (micro_batch.rows[0][0] == 0 ? 0.25 : 0.75));
  }
}

TEST_CASE("a sample that fits nowhere is named with what it lacks") {
  Toy toy(testing::toy_layout(2), {}, 1'000);
  // 200 tokens take 1,600 bytes and their buffers.
  const BatchPlan plan = plan_batch(toy.question, {{8, 0}, {200, 0}});
  CHECK(plan.why_not ==
        "recompute 'none': sample 1 (200 tokens) needs 1.6 KiB alone, 600 B more "
        "than there are");
  ToyNumbers numbers;
  numbers.most_tokens = 100;
  Toy measured(testing::toy_layout(2), numbers, kPlenty);
  CHECK(plan_batch(measured.question, {{8, 0}, {200, 0}}).why_not ==
        "recompute 'none': sample 1 (200 tokens) ran out of memory");
  Toy many(testing::toy_layout(1, 1, 3), {}, kPlenty);
  CHECK(plan_batch(many.question, {{8, 0}, {16, 0}}).why_not ==
        "recompute 'none': the batch forms 2 micro-batches at most, too few for 3 replicas");
}

TEST_CASE("questions that cannot be are refused") {
  Toy toy(testing::toy_layout(2), {}, kPlenty);
  const LengthBatch batch{{8, 0}};
  CHECK_THROWS_AS(plan_batch(toy.question, {}), Error);
  toy.question.schedules = {"gpipe"};
  CHECK_THROWS_WITH_AS(plan_batch(toy.question, batch),
                       "schedule 'gpipe' is not one that batches of this layout are planned with; "
                       "choose among 1f1b, cyclic, zb-h1, zb-h2",
                       Error);
  toy.question.schedules.clear();
  toy.question.method = BatchMethod::kPacked;
  toy.question.size = 0;
  CHECK_THROWS_AS(plan_batch(toy.question, batch), Error);
}

TEST_CASE("a schedule that is named is the only one") {
  const LengthBatch batch = testing::random_lengths(5, 24, 96);
  for (const char* name : {"1f1b", "cyclic", "zb-h1", "zb-h2"}) {
    CAPTURE(name);
    Toy toy(testing::toy_layout(3), {}, kPlenty);
    toy.question.schedules = {name};
    CHECK(plan_batch(toy.question, batch).evaluated.plan.schedule == name);
  }
  // Of 24 samples four micro-batches, which go round two ranks in groups of two.
  Toy loop(testing::toy_layout(2, 2), {}, kPlenty);
  loop.question.method = BatchMethod::kFixedSize;
  loop.question.size = 6;
  for (const char* name : {"interleaved", "cyclic", "interleaved-zb"}) {
    CAPTURE(name);
    loop.question.schedules = {name};
    CHECK(plan_batch(loop.question, batch).evaluated.plan.schedule == name);
  }
  // Of five one is left when all groups have gone round: the plain schedule stands in.
  loop.question.size = 5;
  CHECK(plan_batch(loop.question, batch).evaluated.plan.schedule == "interleaved");
  // On one stage all are the same.
  Toy alone(testing::toy_layout(1), {}, kPlenty);
  alone.question.schedules = {"cyclic"};
  CHECK(plan_batch(alone.question, batch).evaluated.plan.schedule == "1f1b");
}

TEST_CASE("random batches: every sample runs once, within memory, no slower than 1F1B alone") {
  Random random(17);
  for (int i = 0; i < testing::draws(150); ++i) {
    CAPTURE(i);
    Toy toy = random_toy(random);
    const LengthBatch batch = testing::random_lengths(
        static_cast<std::uint64_t>(i), static_cast<std::size_t>(random.between(3, 30)), 96);
    toy.question.seed = static_cast<std::uint64_t>(i);
    const BatchPlan plan = plan_batch(toy.question, batch);
    REQUIRE(plan.why_not.empty());
    REQUIRE(!plan.evaluated.why_not);
    check_samples(plan, batch.size());
    toy.question.capacity = Bytes{fullest(plan) - 1};
    const BatchPlan tighter = plan_batch(toy.question, batch);
    if (tighter.why_not.empty()) CHECK(fullest(tighter) < fullest(plan));
    toy.question.capacity = Bytes{kPlenty};
    if (toy.question.layout.stage_map == StageMap::kV) continue;
    toy.question.schedules = {toy.question.layout.chunks > 1 ? "interleaved" : "1f1b"};
    const BatchPlan alone = plan_batch(toy.question, batch);
    if (alone.why_not.empty()) CHECK(plan.makespan() <= alone.makespan());
  }
}

TEST_CASE("the same bytes for any number of threads and any number of times") {
  Random random(23);
  for (int i = 0; i < 20; ++i) {
    Toy toy = random_toy(random);
    const LengthBatch batch = testing::random_lengths(static_cast<std::uint64_t>(i), 40, 200);
    const std::string once = told(plan_batch(toy.question, batch));
    CHECK(told(plan_batch(toy.question, batch)) == once);
    toy.question.threads = 4;
    CHECK(told(plan_batch(toy.question, batch)) == once);
  }
}

TEST_CASE("a larger limit of memory never gives a slower plan") {
  Random random(29);
  int infeasible = 0, faster = 0;
  for (int i = 0; i < testing::draws(1'000); ++i) {
    CAPTURE(i);
    Toy toy = random_toy(random);
    toy.question.replays = 40;
    const LengthBatch batch = testing::random_lengths(
        static_cast<std::uint64_t>(i), static_cast<std::size_t>(random.between(3, 14)), 64);
    Duration before = Duration::max();
    std::int64_t limit = 600 + random.between(0, 400);
    for (int step = 0; step < 5; ++step, limit += limit / random.between(2, 12)) {
      toy.question.capacity = Bytes{limit};
      const BatchPlan plan = plan_batch(toy.question, batch);
      if (!plan.why_not.empty()) {
        REQUIRE(before == Duration::max());
        ++infeasible;
        continue;
      }
      REQUIRE(fullest(plan) <= limit);
      REQUIRE(plan.makespan() <= before);
      faster += before != Duration::max() && plan.makespan() < before ? 1 : 0;
      before = plan.makespan();
    }
  }
  CHECK(infeasible > testing::least(100));  // limits are tight enough to matter
  CHECK(faster > testing::least(300));
}

TEST_CASE("what is compared with goes the same way") {
  Toy toy(testing::toy_layout(4), {}, kPlenty);
  const LengthBatch batch = testing::random_lengths(4, 40, 200);
  const BatchPlan dynamic = plan_batch(toy.question, batch);
  const auto by = [&](BatchMethod method, int size, std::int64_t tokens) {
    toy.question.method = method;
    toy.question.size = size;
    toy.question.tokens = tokens;
    BatchPlan plan = plan_batch(toy.question, batch);
    REQUIRE(plan.why_not.empty());
    check_samples(plan, batch.size());
    CHECK(dynamic.objective_ns <= plan.objective_ns);
    return plan;
  };
  CHECK_FALSE(by(BatchMethod::kFixedSize, 4, 0).needs_sample_mask);
  CHECK_FALSE(by(BatchMethod::kTokenBudget, 1, 512).needs_sample_mask);
  CHECK(by(BatchMethod::kPacked, 2, 0).needs_sample_mask);
  // Memory is judged, too: 40 samples of up to 200 tokens at once do not fit.
  toy.question.capacity = Bytes{20'000};
  toy.question.method = BatchMethod::kFixedSize;
  toy.question.size = 40;
  CHECK(
      plan_batch(toy.question, batch).why_not.starts_with("recompute 'none': a micro-batch of 40"));
}

TEST_CASE("memory decides between recompute modes") {
  Plan layout = testing::toy_layout(2);
  ToyNumbers keeping, recomputing;
  recomputing.stash_per_token = 1;
  recomputing.recompute_ns = 100;
  const ToyCosts kept(layout, keeping), recomputed(layout, recomputing);
  Toy toy(layout, keeping, kPlenty);
  toy.question.recompute = {{"none", &kept}, {"full", &recomputed}};
  const LengthBatch batch(12, {64, 0});
  const BatchPlan plenty = plan_batch(toy.question, batch);
  CHECK(plenty.evaluated.plan.recompute == "none");
  toy.question.capacity = Bytes{600};  // a sample takes 512 bytes and two boundaries of 64, or 64
  const BatchPlan tight = plan_batch(toy.question, batch);
  REQUIRE(tight.why_not.empty());
  CHECK(tight.evaluated.plan.recompute == "full");
  CHECK(tight.evaluated.recomputes);
  CHECK(tight.makespan() > plenty.makespan());
}

// GPT-6.7B as it was measured on A100s.
TEST_CASE("plans of a measured model: the judge of plan files finds the same time and bytes") {
  const std::string profile_path = "data/profiles/gpt-6.7b.a100-40gb.all-lengths.json";
  const std::string cluster_path = "data/clusters/a100-40gb-p4d-8x8.json";
  const ModelProfile profile =
      read_profile(parse_json(read_file(profile_path), profile_path), profile_path);
  const ClusterSpec cluster =
      read_cluster(parse_json(read_file(cluster_path), cluster_path), cluster_path);
  for (const int data : {1, 2}) {
    CAPTURE(data);
    Plan layout = testing::toy_layout(4, 1, data);
    layout.device = "a100-40gb";
    layout.tensor = 2;
    const int sections = static_cast<int>(profile.sections.size());
    layout.cuts = {0, sections / 4, sections / 2, 3 * sections / 4, sections};
    const PlanInputs inputs{&profile, &cluster, {}, {}};
    const ProfileCosts costs(inputs, layout, "none");
    BatchQuestion question;
    question.layout = layout;
    question.recompute = {{"none", &costs}};
    question.capacity = costs.capacity();
    question.reserve = costs.reserve();
    question.replays = 300;
    const LengthBatch batch = testing::random_lengths(1, 60, 700);
    const BatchPlan plan = plan_batch(question, batch);
    REQUIRE(plan.why_not.empty());
    REQUIRE(!plan.evaluated.why_not);
    check_samples(plan, batch.size());
    const PlanFile file = to_plan_file(inputs, plan.evaluated);
    const CheckReport report = check(file);
    for (const Finding& finding : report.findings)
      MESSAGE(finding.place << ": " << finding.message);
    CHECK(report.findings.empty());
    CHECK(report.replayed == plan.evaluated.evaluation.step_time);
    const PlanFile again = read_plan(parse_json(to_text(write_plan(file)), "plan"), "plan");
    CHECK(replay_plan_file(again).evaluation.makespan == plan.makespan());
    // Under 1F1B the same plan is predicted from its batch alone.
    question.schedules = {"1f1b"};
    const BatchPlan plain = plan_batch(question, batch);
    REQUIRE(plain.why_not.empty());
    const EvaluatedPlan predicted = evaluate(inputs, plain.evaluated.plan);
    CHECK(predicted.evaluation.makespan == plain.makespan());
    CHECK(predicted.prices == plain.evaluated.prices);
  }
}

}  // namespace penstock
