// What makes the planner of batches fast, or contains others in it, against the plain way.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "search/dynamic/batch_candidates.h"
#include "search/dynamic/batch_formings.h"
#include "search/dynamic/plan_batch.h"
#include "search/dynamic/profile_costs.h"
#include "search/dynamic/replica_replays.h"
#include "tests/search/dynamic/toy_costs.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;
using testing::random_toy;
using testing::Toy;

// The plan without a bound: everything is made, and every link of the chain is improved to its end.
class PlainWay {
 public:
  PlainWay(const BatchQuestion& question, const LengthBatch& batch)
      : question_(question),
        formings_(form_batch(question, batch)),
        candidates_(question, formings_, 0, kWhenever) {
    candidates_.make_all();
  }

  // Where nothing fits within a limit of the ladder, nothing.
  std::optional<std::int64_t> end() {
    std::optional<std::int64_t> best = end_of(true);
    const std::optional<std::int64_t> of_all = end_of(false);
    if (of_all && (!best || *of_all < *best)) best = of_all;
    return best;
  }

 private:
  std::optional<std::int64_t> end_of(bool only_first) {
    std::optional<std::int64_t> fastest, best;
    for (const std::int64_t limit : rungs_of(*formings_.modes.front(), 16)) {
      for (const Candidate* candidate : candidates_.ranked()) {
        if (fastest && candidate->end_ns >= *fastest) break;
        if (only_first && candidate->schedule_index > 0) continue;
        if (candidate->rung > limit || candidate->need > limit) continue;
        fastest = candidate->end_ns;
        const Candidate better =
            improved(question_, *candidate, {limit, kWhenever, true}, replays_);
        const std::int64_t end = better.need <= limit ? better.end_ns : candidate->end_ns;
        best = std::min({best.value_or(kWhenever), end, candidate->end_ns});
        break;
      }
    }
    return best;
  }

  const BatchQuestion& question_;
  Formings formings_;
  Candidates candidates_;
  std::int64_t replays_ = 0;
};

}  // namespace

TEST_CASE("loads of shapes are those of their prices") {
  const std::string profile_path = "data/profiles/gpt-6.7b.a100-40gb.all-lengths.json";
  const std::string cluster_path = "data/clusters/a100-40gb-p4d-8x8.json";
  const ModelProfile profile =
      read_profile(parse_json(read_file(profile_path), profile_path), profile_path);
  const ClusterSpec cluster =
      read_cluster(parse_json(read_file(cluster_path), cluster_path), cluster_path);
  Plan layout = testing::toy_layout(2, 2);
  layout.device = "a100-40gb";
  layout.tensor = 2;
  const int sections = static_cast<int>(profile.sections.size());
  layout.cuts = {0, sections / 5, sections / 2, sections / 2 + 1, sections};
  const PlanInputs inputs{&profile, &cluster, {}, {}};
  int known = 0;
  for (const char* mode : {"none", "selective", "full"}) {
    CAPTURE(mode);
    const ProfileCosts costs(inputs, layout, mode);
    // On, between, below and beyond what was measured.
    std::vector<MicroBatchShape> shapes;
    for (const int samples : {1, 2, 3, 7, 48, 200, 1'000, 3'000}) {
      for (const int tokens : {8, 32, 40, 100, 344, 1'000, 8'192, 9'000}) {
        shapes.push_back({samples, tokens, 0});
      }
    }
    shapes.push_back({1, 32, 8});
    const ShapeLoads loads = costs.loads_of(shapes);
    const ShapeLoads plain = costs.ShapeCosts::loads_of(shapes);
    REQUIRE(loads.shapes.size() == shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      CAPTURE(shapes[i].samples);
      CAPTURE(shapes[i].tokens);
      CHECK(loads.shapes[i].status == plain.shapes[i].status);
      CHECK(loads.shapes[i].why_not == plain.shapes[i].why_not);
      if (plain.shapes[i].status != ShapeStatus::kKnown) continue;
      ++known;
      for (std::size_t s = 0; s < 4; ++s) {
        CHECK(loads.loads[4 * i + s] == plain.loads[4 * i + s]);
      }
    }
  }
  CHECK(known > 60);
}

// Two ranks in two replicas, one micro-batch of F 1,800 ns and B 3,600 (I and W 1,800 each), 10 for
// a transfer, 500 for a reduction. Under 1F1B the bound is the step:
//   0 to 1800 F0, 1810 to 3610 F1, to 7210 B1, 7220 to 10820 B0, and 500.
// Split, rank 1 comes to 1,810 + 5,400 and its own reduction; rank 0 might have waited for nothing.
TEST_CASE("a bound counts what follows the last gradients") {
  const Plan layout = testing::toy_layout(2, 1, 2);
  testing::ToyNumbers numbers;
  numbers.reduce_ns = 500;
  const testing::ToyCosts costs(layout, numbers);
  ShapeTable table(costs, layout, {}, Bytes{1 << 20}, Bytes{});
  const std::vector<int> ids{table.id_of({1, 8, 0})};
  table.price(ids);
  ReplayCosts replay_costs(layout, {}, false);
  replay_costs.add(table, ids);
  const std::vector<FormedMicroBatch> formed{{{{0}}, ids.front()}};
  const ReplicaReplays replays(layout, table, replay_costs, formed);
  const auto bound = [&](const char* schedule) {
    return replays.least_end_ns({find_schedule(schedule), 0, 0}, ids, 1);
  };
  CHECK(bound("1f1b") == 10'820 + 500);
  CHECK(bound("zb-h1") == 1'810 + 5'400 + 500);
}

// Two ranks, 1F1B, transfers that take no time. On the first, a (one sample of 10 tokens) has F 10
// and B 10 + 20, b (two of 7) F 14 and B 14; on the other, ten times slower, F 100 and B 120, F 140
// and B 140. In the order a, b:
//   rank 0  Fa 0-10  Fb 10-24                                       Ba 230-260         Bb 510-524
//   rank 1           Fa 10-110  Ba 110-230  Fb 230-370  Bb 370-510
// So the way there is a's and the way back b's: 10 + 500 + 14. The least of a's own (40) and b's
// own (28) would say 528, more than the step takes.
TEST_CASE("a bound takes the first to come and the last to go back for two micro-batches") {
  const Plan layout = testing::toy_layout(2);
  testing::ToyNumbers numbers;
  numbers.fixed_ns = numbers.transfer_ns = 0;
  numbers.per_token_ns = numbers.backward = 1;
  numbers.odd_backward_ns = 20;
  numbers.slower = {0, 90};
  const testing::ToyCosts costs(layout, numbers);
  ShapeTable table(costs, layout, {}, Bytes{1 << 20}, Bytes{});
  const std::vector<int> ids{table.id_of({1, 10, 0}), table.id_of({2, 7, 0})};
  table.price(ids);
  ReplayCosts replay_costs(layout, {}, false);
  replay_costs.add(table, ids);
  const std::vector<FormedMicroBatch> formed{{{{0}}, ids[0]}, {{{1}}, ids[1]}};
  const ReplicaReplays replays(layout, table, replay_costs, formed);
  const BatchSchedule schedule{find_schedule("1f1b"), 0, 0};
  CHECK(replays.replay_of(schedule, 2)(ids, kAnyTime).end_ns == 524);
  CHECK(replays.least_end_ns(schedule, ids, 1) == 524);
}

// Among others the bound on candidates that are not made: it must hold however their micro-batches
// are shared out anew among the replicas.
TEST_CASE("what bounds leave out would not have been the plan") {
  Random random(41);
  int compared = 0;
  for (int i = 0; i < testing::draws(600); ++i) {
    CAPTURE(i);
    Toy toy = random_toy(random, 100'000);
    toy.question.replays = 40;
    toy.question.seed = static_cast<std::uint64_t>(i);
    const LengthBatch batch = testing::random_lengths(
        static_cast<std::uint64_t>(i), static_cast<std::size_t>(random.between(3, 14)), 64);
    toy.question.capacity = Bytes{900 + random.between(0, 3'000)};
    const BatchPlan plan = plan_batch(toy.question, batch);
    if (!plan.why_not.empty()) continue;
    const std::optional<std::int64_t> plain = PlainWay(toy.question, batch).end();
    if (!plain) continue;
    ++compared;
    CHECK(plan.evaluated.evaluation.step_time == Duration{*plain});
  }
  CHECK(compared > testing::least(300));
}

// Without it the same plans take more time: 25 instead of 18 ms where 65,536 tokens are planned for
// four ranks.
TEST_CASE("what cannot beat what is known is not made, however it is shared out") {
  Random random(47);
  int made = 0;
  for (int i = 0; i < testing::draws(100); ++i) {
    CAPTURE(i);
    Toy toy = random_toy(random);
    const LengthBatch batch = testing::random_lengths(
        static_cast<std::uint64_t>(i), static_cast<std::size_t>(random.between(6, 14)), 64);
    const std::int64_t limit = 900 + random.between(0, 3'000);
    toy.question.capacity = Bytes{limit};
    const Formings formings = form_batch(toy.question, batch);
    const auto made_where_known = [&](std::int64_t beat) {
      Candidates candidates(toy.question, formings, 0, kWhenever);
      const std::size_t before = candidates.ranked().size();
      candidates.make_within({limit, kWhenever, beat, true, false});
      return candidates.ranked().size() - before;
    };
    CHECK(made_where_known(0) == 0);
    made += made_where_known(kWhenever) > 0 ? 1 : 0;
  }
  CHECK(made >= testing::least(10));
}

TEST_CASE("no token budget and no fixed size that is a rival makes a faster plan") {
  Random random(43);
  int gained = 0;
  for (int i = 0; i < testing::draws(200); ++i) {
    CAPTURE(i);
    Toy toy = random_toy(random);
    toy.question.replays = 40;
    toy.question.seed = static_cast<std::uint64_t>(i);
    const int most = random.between(16, 400);
    const LengthBatch batch = testing::random_lengths(
        static_cast<std::uint64_t>(i), static_cast<std::size_t>(random.between(12, 40)), most);
    if (random.coin()) toy.question.capacity = Bytes{8'000 + 40 * random.between(0, 1'000)};
    const BatchRule budget{BatchMethod::kTokenBudget, random.between(most, 6 * most)};
    const BatchRule size{BatchMethod::kFixedSize, random.between(1, 6)};
    const auto alone = [&](const BatchRule& rule) {
      BatchQuestion question = toy.question;
      question.method = rule.method;
      question.tokens = rule.amount;
      question.size = static_cast<int>(rule.amount);
      return plan_batch(question, batch);
    };
    const BatchPlan without = plan_batch(toy.question, batch);
    toy.question.rivals = {budget, size};
    const BatchPlan plan = plan_batch(toy.question, batch);
    if (without.why_not.empty()) {
      REQUIRE(plan.why_not.empty());
      CHECK(plan.makespan() <= without.makespan());
      gained += plan.makespan() < without.makespan() ? 1 : 0;
    }
    for (const BatchRule& rule : toy.question.rivals) {
      const BatchPlan other = alone(rule);
      if (!other.why_not.empty()) continue;
      REQUIRE(plan.why_not.empty());
      CHECK(plan.makespan() <= other.makespan());
    }
  }
  CHECK(gained >= testing::least(1));  // the exact split alone would not do
}

}  // namespace penstock
