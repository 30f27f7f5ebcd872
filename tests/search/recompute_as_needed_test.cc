#include "search/recompute_as_needed.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/plan_file.h"
#include "core/values/recompute_sections.h"
#include "search/choose_cuts.h"
#include "search/cut_replay.h"
#include "search/end_bound.h"
#include "search/lower_bound.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "tests/search/models.h"
#include "tests/watched.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::Random;

// With a mode "full" that keeps `kept` bytes of each section and computes its forward again.
ModelProfile with_full(ModelProfile model, std::int64_t kept, std::int64_t working) {
  for (SectionType& type : model.section_types) {
    const std::vector<Measurement> before = type.measurements;
    for (Measurement m : before) {
      m.recompute = "full";
      m.recompute_time = m.forward;
      m.stash = Bytes{kept * m.micro_batch_size};
      m.working_peak = Bytes{working * m.micro_batch_size};
      type.measurements.push_back(m);
    }
  }
  return model;
}

Plan plan_of(int pipeline, int chunks, int global_batch, std::vector<int> cuts) {
  Plan plan;
  plan.schedule = chunks > 1 ? "interleaved" : "1f1b";
  plan.pipeline = pipeline;
  plan.chunks = chunks;
  plan.global_batch = global_batch;
  plan.recompute = "full";
  plan.device = "gpu";
  plan.cuts = std::move(cuts);
  return plan;
}

// Any number but none and all: so that it is divided anew.
Plan to_be_divided(Plan plan) {
  plan.recompute_sections.assign(plan.cuts.size() - 1, 0);
  return plan;
}

struct Case {
  ModelProfile model;
  ClusterSpec cluster;
  [[nodiscard]] PlanInputs inputs() const {
    PlanInputs inputs;
    inputs.profile = &model;
    inputs.cluster = &cluster;
    return inputs;
  }
};

// The shortest step of all numbers of sections per stage that fit.
std::optional<Duration> best_by_hand(const PlanInputs& inputs, const Plan& plan) {
  std::vector<int> counts(plan.cuts.size() - 1);
  std::optional<Duration> best;
  while (true) {
    Plan tried = plan;
    set_recompute_sections(tried, counts);
    const EvaluatedPlan evaluated = evaluate(inputs, tried);
    if (!evaluated.why_not && (!best || evaluated.evaluation.step_time < *best)) {
      best = evaluated.evaluation.step_time;
    }
    std::size_t s = 0;
    while (s < counts.size()) {
      if (++counts[s] <= plan.cuts[s + 1] - plan.cuts[s]) break;
      counts[s++] = 0;
    }
    if (s == counts.size()) return best;
  }
}

// Of all cuts, too.
std::optional<Duration> best_of_all_cuts(const PlanInputs& inputs, Plan plan) {
  const int sections = plan.cuts.back();
  const int stages = plan.stages_per_copy();
  std::optional<Duration> best;
  std::vector<bool> is_cut(static_cast<std::size_t>(sections) - 1, false);
  std::fill(is_cut.end() - (stages - 1), is_cut.end(), true);
  do {
    plan.cuts = {0};
    for (std::size_t i = 0; i < is_cut.size(); ++i) {
      if (is_cut[i]) plan.cuts.push_back(static_cast<int>(i) + 1);
    }
    plan.cuts.push_back(sections);
    const auto step = best_by_hand(inputs, plan);
    if (step && (!best || *step < *best)) best = step;
  } while (std::next_permutation(is_cut.begin(), is_cut.end()));
  return best;
}

// 1F1B on two ranks: rank 0 holds two micro-batches, rank 1 one. Four sections of 10 bytes each:
// 80 and 40 bytes. A section that recomputes keeps 1: rank 0 saves 18 with each.
TEST_CASE("a rank recomputes in as few sections as its memory asks for") {
  const Case one{with_full(model_of_sections(std::vector<Costs>(8, Costs{1, 2, 0, 10}), 1), 1, 0),
                 cluster_of({1, 2, 60})};
  const Plan plan = plan_of(2, 1, 8, {0, 4, 8});
  const PlanInputs inputs = one.inputs();
  CutReplay replay(inputs, to_be_divided(plan));
  const auto result = replay.run(plan.cuts);
  REQUIRE(result);
  const Plan divided = replay.with(plan.cuts);
  CHECK(divided.recompute_sections == std::vector<int>{2, 0});
  CHECK(recompute_in_short(divided) == "full 2/8");
  CHECK(recompute_in_words(divided) == "full in 2 of 8 sections (stage 0)");
  const EvaluatedPlan evaluated = evaluate(inputs, divided);
  REQUIRE_FALSE(evaluated.why_not);
  CHECK(evaluated.evaluation.step_time == result->step_time);
  CHECK(evaluated.evaluation.peak_memory() == result->memory);
  CHECK(evaluated.evaluation.ranks[0].memory.stash == Bytes{80 - 2 * 18});
  CHECK(evaluated.evaluation.ranks[1].memory.stash == Bytes{40});
  CHECK(evaluated.prices.compute_of(0, 0).recompute.duration == Duration{2'000});
  CHECK(evaluated.prices.compute_of(1, 0).recompute.duration == Duration{});
  CHECK(result->step_time < evaluate(inputs, plan).evaluation.step_time);
  const PlanFile file = to_plan_file(inputs, evaluated);
  CHECK(check(file).findings.empty());
  CHECK(replay_plan_file(file).evaluation.step_time == result->step_time);
  const PlanFile read = read_plan(parse_json(to_text(write_plan(file)), "p.json"), "p.json");
  CHECK(read.plan == file.plan);
  CHECK(replay_plan_file(read).evaluation.step_time == result->step_time);
  PlanFile wrong = file;
  wrong.plan.recompute_sections = {0, 1};  // but stage 0 has a price for it
  CHECK_FALSE(check(wrong).findings.empty());
  wrong.plan.recompute_sections = {5, 0};
  CHECK_FALSE(check(wrong).findings.empty());
}

TEST_CASE("where nothing needs to be recomputed the mode is none, where all must it is whole") {
  Case one{with_full(model_of_sections(std::vector<Costs>(4, Costs{1, 2, 0, 10}), 1), 1, 0),
           cluster_of({1, 2, 1000})};
  const Plan plan = plan_of(2, 1, 8, {0, 2, 4});
  const auto divided = [&](std::int64_t memory) {
    one.cluster = cluster_of({1, 2, memory});
    const PlanInputs inputs = one.inputs();
    return CutReplay(inputs, to_be_divided(plan)).with(plan.cuts);
  };
  CHECK(divided(1000).recompute == "none");
  CHECK(divided(1000).recompute_sections.empty());
  CHECK(divided(11).recompute_sections == std::vector<int>{2, 1});  // rank 1: 10 and 1
  CHECK(divided(4).recompute == "full");
  CHECK(divided(4).recompute_sections.empty());
  one.cluster = cluster_of({1, 2, 3});
  const PlanInputs inputs = one.inputs();
  CHECK_FALSE(CutReplay(inputs, to_be_divided(plan)).run(plan.cuts));
}

Case random_case(Random& random, int ranks, int sections) {
  std::vector<Costs> costs;
  costs.reserve(static_cast<std::size_t>(sections));
  for (int s = 0; s < sections; ++s) {
    costs.push_back({random.between(1, 9), random.between(1, 20), random.between(0, 3),
                     random.between(5, 30), random.between(0, 9), 2});
  }
  return {with_full(model_of_sections(costs, 2), random.between(1, 5), random.between(0, 30)),
          cluster_of({1, ranks, random.between(40, 200)})};
}

std::vector<int> random_cuts(Random& random, int stages, int sections) {
  std::vector<int> cuts{0};
  for (int s = 1; s < stages; ++s) {
    cuts.push_back(random.between(cuts.back() + 1, sections - (stages - s)));
  }
  cuts.push_back(sections);
  return cuts;
}

TEST_CASE("with one stage per rank no numbers of sections make a faster step") {
  Random random(71);
  int divided = 0;
  for (int i = 0; i < testing::draws(60); ++i) {
    CAPTURE(i);
    const int ranks = random.between(1, 3);
    const int sections = random.between(ranks, 7);
    const Case one = random_case(random, ranks, sections);
    const PlanInputs inputs = one.inputs();
    const Plan plan = plan_of(ranks, 1, random.between(1, 6), random_cuts(random, ranks, sections));
    CutReplay replay(inputs, to_be_divided(plan));
    const auto result = replay.run(plan.cuts);
    const auto best = best_by_hand(inputs, plan);
    REQUIRE(result.has_value() == best.has_value());
    if (!result) continue;
    CHECK(result->step_time == *best);
    const Plan chosen = replay.with(plan.cuts);
    const EvaluatedPlan evaluated = evaluate(inputs, chosen);
    REQUIRE_FALSE(evaluated.why_not);
    CHECK(evaluated.evaluation.step_time == result->step_time);
    CHECK(check(to_plan_file(inputs, evaluated)).findings.empty());
    divided += recompute_is_divided(chosen) ? 1 : 0;
  }
  CHECK(divided >= testing::least(6));
}

// Also with two copies of the weights, whose stages lie on two ranks each.
TEST_CASE("with several stages per rank the step gets shorter, fits, and is near the best") {
  Random random(72);
  int divided = 0, best = 0, cases = 0;
  for (int i = 0; i < testing::draws(60); ++i) {
    CAPTURE(i);
    const bool two_copies = i % 3 == 0;
    const Case one = random_case(random, 2, 8);
    const PlanInputs inputs = one.inputs();
    Plan plan =
        plan_of(2, 2, 4, two_copies ? std::vector<int>{0, 4, 8} : std::vector<int>{0, 2, 4, 6, 8});
    if (two_copies) plan.schedule = "dualpipe";
    const EvaluatedPlan whole = evaluate(inputs, plan);
    CutReplay replay(inputs, to_be_divided(whole.plan));
    const auto result = replay.run(plan.cuts);
    if (!whole.why_not) REQUIRE(result);
    if (!result) continue;
    const Plan chosen = replay.with(plan.cuts);
    const EvaluatedPlan evaluated = evaluate(inputs, chosen);
    REQUIRE_FALSE(evaluated.why_not);
    CHECK(evaluated.evaluation.step_time == result->step_time);
    if (!whole.why_not) CHECK(result->step_time <= whole.evaluation.step_time);
    const Duration least = best_by_hand(inputs, whole.plan).value();
    CHECK(result->step_time.count() <= least.count() * 115 / 100);
    best += result->step_time == least ? 1 : 0;
    divided += recompute_is_divided(chosen) ? 1 : 0;
    ++cases;
  }
  CHECK(divided >= testing::least(6));
  CHECK(2 * best > cases);
}

// Layers alike between an embedding that keeps little and a head: what the search meets.
// What a plan in mode "full" asks of its division.
struct Division {
  Division(const PlanInputs& inputs, const Plan& plan)
      : again(prepare(inputs, plan)),
        none(prepare(inputs, in_mode_none(plan))),
        held(liveness_of(again.plan)),
        ties(*inputs.profile, 1),
        sums{none.sums.full_size(), again.sums.full_size()},
        memory(sums.kept, ties, {inputs.profile->training, 1}, held, again.devices.reserve(),
               again.devices.memory()),
        as_needed(sums, memory, held, again.plan, again.kind->backward, RecomputeRule::kPerStage) {}
  static Plan in_mode_none(Plan plan) {
    plan.recompute = "none";
    return plan;
  }

  PreparedPlan again, none;
  HeldCounts held;
  TiedParameters ties;
  RecomputeSums sums;
  StageMemory memory;
  RecomputeAsNeeded as_needed;
};

// A section more of one stage on every rank that has one.
std::vector<int> one_more(Random& random, const Plan& plan, std::vector<int> counts) {
  std::vector<std::vector<int>> may_grow(static_cast<std::size_t>(plan.pipeline));
  for (int s = 0; s < plan.stages_per_copy(); ++s) {
    const auto stage = static_cast<std::size_t>(s);
    if (counts[stage] == plan.cuts[stage + 1] - plan.cuts[stage]) continue;
    may_grow[static_cast<std::size_t>(plan.copies() > 1 ? 0 : plan.rank_of(s))].push_back(s);
  }
  for (const std::vector<int>& stages : may_grow) {
    if (stages.empty()) continue;
    const int one = random.between(0, static_cast<int>(stages.size()) - 1);
    ++counts[static_cast<std::size_t>(stages[static_cast<std::size_t>(one)])];
  }
  return counts;
}

TEST_CASE("what is asked instead of dividing a plan agrees with its division") {
  Random random(75);
  int fit = 0;
  int longer_by_wires = 0;
  for (int i = 0; i < testing::draws(100); ++i) {
    CAPTURE(i);
    const int chunks = 1 + i % 2;
    const Case one = random_case(random, 2, 8);
    const PlanInputs inputs = one.inputs();
    Plan plan = plan_of(2, chunks, random.between(1, 3) * 2, random_cuts(random, 2 * chunks, 8));
    if (i % 6 == 1) {  // two copies of the weights
      plan = plan_of(2, 2, 4, {0, 4, 8});
      plan.schedule = "dualpipe";
    }
    const Division of(inputs, plan);
    const auto sections = of.as_needed.sections(plan.cuts);
    CHECK(of.as_needed.fits_somehow(plan.cuts) == sections.has_value());
    if (!sections) continue;
    Plan divided = of.again.plan;
    set_recompute_sections(divided, *sections);
    const EvaluatedPlan evaluated = evaluate(inputs, divided);
    REQUIRE_FALSE(evaluated.why_not);
    const auto fullest = of.as_needed.fullest(plan.cuts, *sections);
    CHECK(fullest.now == evaluated.evaluation.peak_memory());
    CHECK(of.as_needed.fullest(plan.cuts, one_more(random, plan, *sections)).now >=
          fullest.with_one_more);
    const BackwardKind backward = of.again.kind->backward;
    const Duration computed = compute_bound(of.sums, divided, backward, of.held, inputs.executor);
    const PlanWiring wiring(*inputs.cluster, divided, WiredStages::kFirst);
    const WiredTimes wired{first_stage_end(*inputs.profile, wiring, divided),
                           transfer_prices(wiring, divided, of.sums.kept[0].boundary)};
    const Duration with_wires =
        end_bound(of.sums, divided, backward, of.held, inputs.executor, wired);
    CHECK(computed <= with_wires);
    CHECK(with_wires <= evaluated.evaluation.step_time);
    longer_by_wires += with_wires > computed ? 1 : 0;
    ++fit;
  }
  CHECK(fit > testing::least(20));
  CHECK(longer_by_wires > testing::least(20));
}

// As above: a section that recomputes saves rank 0 18 of 80 bytes, rank 1 9 of 40. The bound is no
// looser than that: 44 - 18 and 40 - 9, of which rank 1 holds more.
TEST_CASE("one section more lowers the bound of each rank by what it saves there") {
  const Case one{with_full(model_of_sections(std::vector<Costs>(8, Costs{1, 2, 0, 10}), 1), 1, 0),
                 cluster_of({1, 2, 60})};
  const PlanInputs inputs = one.inputs();
  Plan plan = plan_of(2, 1, 8, {0, 4, 8});
  plan.recompute = "full";
  const Division of(inputs, plan);
  const std::vector<int>& cuts = plan.cuts;
  const auto fullest = of.as_needed.fullest(cuts, {2, 0});
  CHECK(fullest.now == Bytes{44});
  CHECK(fullest.with_one_more == Bytes{31});
  const auto with_one_more = of.as_needed.fullest(cuts, {3, 1});
  CHECK(with_one_more.now == fullest.with_one_more);
  // A rank without a section to give keeps what it holds.
  CHECK(of.as_needed.fullest(cuts, {4, 0}).with_one_more == Bytes{31});
}

TEST_CASE("the slowest stage of the best cuts is known before they are") {
  using Within = RecomputeAsNeeded::Within;
  Random random(76);
  int fit = 0;
  for (int i = 0; i < testing::draws(100); ++i) {
    CAPTURE(i);
    const int ranks = random.between(1, 4), sections = random.between(ranks, 12);
    const Costs layer{random.between(1, 9), random.between(1, 20), 0, random.between(5, 30)};
    const Case one{with_full(model_of_sections(
                                 std::vector<Costs>(static_cast<std::size_t>(sections), layer), 1),
                             random.between(1, 4), 0),
                   cluster_of({1, ranks, random.between(20, 300)})};
    const PlanInputs inputs = one.inputs();
    const Plan plan = plan_of(ranks, 1, 8, equal_cuts(sections, ranks));
    const Division of(inputs, plan);
    const auto cuts = of.as_needed.balanced_cuts(plan.cuts);
    CHECK(cuts.has_value() ==
          (of.as_needed.balanced_within(Duration{1'000'000'000}) != Within::kNoneFit));
    if (!cuts) continue;
    const std::vector<int> counts = of.as_needed.sections(*cuts).value();
    Duration slowest{};
    for (std::size_t s = 0; s < counts.size(); ++s) {
      const std::int64_t own = (*cuts)[s + 1] - (*cuts)[s];
      const std::int64_t work =
          of.sums.kept[0].work[1] * own +
          (of.sums.recomputed[0].work[1] - of.sums.kept[0].work[1]) * counts[s];
      slowest = std::max(slowest, Duration{work});
    }
    CHECK(of.as_needed.balanced_within(slowest) == Within::kYes);
    CHECK(of.as_needed.balanced_within(slowest - Duration{1}) == Within::kNo);
    ++fit;
  }
  CHECK(fit > testing::least(20));
}

TEST_CASE("the search finds the best cuts and the best numbers of sections together") {
  Random random(74);
  int divided = 0;
  for (int i = 0; i < 30; ++i) {
    CAPTURE(i);
    const Costs layer{random.between(2, 9),  random.between(2, 20), random.between(0, 2),
                      random.between(5, 30), random.between(0, 3),  0};
    std::vector<Costs> costs(7, layer);
    costs.front() = {1, 1, 2, 1, 0, 0};
    costs.back() = {random.between(1, 9), random.between(1, 9), 3, random.between(1, 30), 0, 0};
    const Case one{
        with_full(model_of_sections(costs, 1), random.between(1, 3), random.between(0, 9)),
        cluster_of({1, 2, random.between(60, 200)})};
    const PlanInputs inputs = one.inputs();
    SearchRequest request;
    request.gpus = 2;
    request.global_batch = random.between(2, 8);
    request.pins.pipeline = 2;
    request.pins.micro_batch_size = 1;
    request.pins.schedules = {"1f1b"};
    const SearchResult result = testing::search(one.model, one.cluster, request);
    testing::check_result(one.model, one.cluster, result);
    Plan plan = plan_of(2, 1, request.global_batch, {0, 3, 7});
    const auto best = best_of_all_cuts(inputs, plan);
    REQUIRE(result.best.empty() != best.has_value());
    if (!best) continue;
    CHECK(result.best[0].evaluation.step_time == *best);
    divided += recompute_is_divided(result.best[0].plan) ? 1 : 0;
  }
  CHECK(divided > 5);
}

TEST_CASE("the search divides recompute, and its bounds let such plans pass") {
  Random random(73);
  int divided = 0, faster = 0;
  for (int i = 0; i < (testing::kWatched ? 8 : 25); ++i) {
    CAPTURE(i);
    const Case one = random_case(random, 4, 6);
    SearchRequest request;
    request.gpus = 4;
    request.global_batch = 8;
    request.pins.schedules = {"1f1b", "gpipe", "zb-v", "interleaved"};
    const SearchResult result = testing::search(one.model, one.cluster, request);
    testing::check_result(one.model, one.cluster, result);
    SearchRequest slow = request;
    slow.bounds = false;
    const SearchResult all = testing::search(one.model, one.cluster, slow);
    REQUIRE(result.best.size() == all.best.size());
    if (result.best.empty()) continue;
    CHECK(result.best[0].evaluation.step_time == all.best[0].evaluation.step_time);
    divided += recompute_is_divided(result.best[0].plan) ? 1 : 0;
    // Every trainer gets what it can run, which is never faster than what all can.
    for (const char* trainer : {"penstock", "megatron"}) {
      SearchRequest less = request;
      less.trainer = find_trainer(trainer);
      const SearchResult found = testing::search(one.model, one.cluster, less);
      testing::check_result(one.model, one.cluster, found);
      if (found.best.empty()) continue;
      const RankedPlan& best = found.best[0];
      CHECK(result.best[0].evaluation.step_time <= best.evaluation.step_time);
      if (less.trainer->name == "penstock") CHECK_FALSE(recompute_is_divided(best.plan));
      if (result.best[0].evaluation.step_time < best.evaluation.step_time) ++faster;
    }
  }
  CHECK(divided > (testing::kWatched ? 0 : 2));
  CHECK(faster > (testing::kWatched ? 0 : 2));
}

TEST_CASE("a pinned mode is used in all sections, or as needed where that is said") {
  const Case one{with_full(model_of_sections(std::vector<Costs>(8, Costs{1, 2, 0, 10}), 1), 1, 0),
                 cluster_of({1, 2, 60})};
  SearchRequest request;
  request.gpus = 2;
  request.global_batch = 8;
  request.pins.pipeline = 2;
  request.pins.schedules = {"1f1b"};
  const auto best = [&] { return testing::search(one.model, one.cluster, request).best.at(0); };
  const RankedPlan free = best();
  CHECK(recompute_is_divided(free.plan));
  request.pins.recompute = "full";
  const RankedPlan whole = best();
  CHECK(whole.plan.recompute == "full");
  CHECK_FALSE(recompute_is_divided(whole.plan));
  CHECK(free.evaluation.step_time < whole.evaluation.step_time);
  request.pins.recompute_as_needed = true;
  CHECK(best().plan == free.plan);
}

}  // namespace
}  // namespace penstock
