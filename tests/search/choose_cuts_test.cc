#include "search/choose_cuts.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "search/plan_program.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Costs;
using testing::gpt;
using testing::model_of_sections;
using testing::Random;
using testing::sums_of;

std::int64_t bottleneck(const SectionSums& sums, const std::vector<int>& cuts, BackwardKind split) {
  std::int64_t longest = 0;
  const auto& work = sums.work_of(split);
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    longest = std::max(longest, work[static_cast<std::size_t>(cuts[s + 1])] -
                                    work[static_cast<std::size_t>(cuts[s])]);
  }
  return longest;
}

TEST_CASE("equal numbers of sections, the first stages one more") {
  CHECK(equal_cuts(6, 2) == std::vector{0, 3, 6});
  CHECK(equal_cuts(8, 3) == std::vector{0, 3, 6, 8});
  CHECK(equal_cuts(3, 3) == std::vector{0, 1, 2, 3});
}

TEST_CASE("no chain is cut worse than by equal numbers of sections") {
  Random random(41);
  for (int i = 0; i < testing::draws(300); ++i) {
    const ModelProfile model = testing::random_model(random, random.between(1, 20));
    const SectionSums sums = sums_of(model);
    const int stages = random.between(1, sums.sections());
    for (const BackwardKind split : {BackwardKind::kFused, BackwardKind::kSplit}) {
      const auto cuts = balanced_cuts(sums, stages, split);
      REQUIRE(cuts);
      CHECK(bottleneck(sums, *cuts, split) <=
            bottleneck(sums, equal_cuts(sums.sections(), stages), split));
    }
  }
}

TEST_CASE("GPT-6.7B: the head counts as what it is, not as one more layer") {
  // T = 8, 1024 tokens, b = 1: a layer takes 2.44 ms, the head less than half of it, the embedding
  // next to nothing. 34 sections on 8 stages: equal numbers put 5 layers on stage 1; 32 layers over
  // 8 stages are 4 each, with embedding and head on top of the outer ones.
  const SectionSums sums = sum_sections(gpt(), ClusterSpec{}, "a100-40gb", 8, 1, 1024, "none");
  const auto section = [&](int s) {
    const auto i = static_cast<std::size_t>(s);
    return sums.work[i + 1] - sums.work[i];
  };
  const std::int64_t layer = section(1);
  const std::int64_t head = section(33);
  REQUIRE(head < layer);
  REQUIRE(section(0) < head);
  const auto cuts = balanced_cuts(sums, 8, BackwardKind::kFused);
  REQUIRE(cuts);
  CHECK(*cuts == std::vector{0, 5, 9, 13, 17, 21, 25, 29, 34});
  CHECK(bottleneck(sums, *cuts, BackwardKind::kFused) == 4 * layer + head);
  CHECK(bottleneck(sums, equal_cuts(34, 8), BackwardKind::kFused) == 5 * layer);
}

struct Choice {
  ModelProfile model;
  Plan plan;
  std::int64_t memory = 0;
  [[nodiscard]] Cuts cuts() const {
    const SectionSums sums = sums_of(model);
    const TiedParameters ties(model, 1);
    const HeldCounts held(liveness_of(plan));
    const StageMemory limit(sums, ties, {model.training, 1}, held, Bytes{0}, Bytes{memory});
    return choose_cuts(sums, limit, plan, BackwardKind::kFused,
                       balanced_cuts(sums, plan.stages(), BackwardKind::kFused).value());
  }
};

TEST_CASE("cuts move to where memory is") {
  // 1F1B on two ranks with M >= 2: rank 0 holds two micro-batches, rank 1 one. Six equal sections
  // of 10 bytes stash: 3 | 3 needs 60 and 30 bytes, 2 | 4 needs 40 and 40.
  Choice choice{model_of_sections(std::vector<Costs>(6, Costs{1, 2, 0, 10})), {}, 60};
  choice.plan.pipeline = 2;
  choice.plan.global_batch = 4;
  CHECK(choice.cuts().cuts == std::vector{0, 3, 6});
  choice.memory = 59;
  CHECK(choice.cuts().cuts == std::vector{0, 2, 6});
  choice.memory = 40;
  CHECK(choice.cuts().cuts == std::vector{0, 2, 6});
  choice.memory = 39;  // 1 | 5 needs 50 on rank 1
  const Cuts none = choice.cuts();
  CHECK(none.cuts.empty());
  REQUIRE(none.why_not);
  CHECK(none.why_not->reason == "stage 0 over memory");  // of the balanced cuts
  CHECK(none.why_not->least_over == Bytes{60 - 39});
}

TEST_CASE("with several stages per rank what counts is what a rank holds in all of them") {
  // Four chunks on two ranks, M = 1. Sections 0 and 1 hold 50 bytes, the others 10: equal chunks
  // need 50 + 50 + 10 + 10 on rank 0. One of the heavy sections on either rank, with three of the
  // light ones: 80 bytes, half of all.
  std::vector<Costs> costs(8, Costs{1, 2, 0, 10});
  costs[0].stash = costs[1].stash = 50;
  Choice choice{model_of_sections(costs), {}, 120};
  choice.plan.schedule = "looped-bfs";
  choice.plan.pipeline = 2;
  choice.plan.chunks = 2;
  CHECK(choice.cuts().cuts == std::vector{0, 2, 4, 6, 8});
  for (const std::int64_t memory : {119, 80}) {
    choice.memory = memory;
    const std::vector<int> cuts = choice.cuts().cuts;
    REQUIRE(cuts.size() == 5);
    CHECK(cuts[1] == 1);                // section 1 on the other rank
    CHECK(1 + cuts[3] - cuts[2] == 4);  // and as much work
  }
  choice.memory = 79;
  const Cuts none = choice.cuts();
  CHECK(none.cuts.empty());
  REQUIRE(none.why_not);
  CHECK(none.why_not->reason == "rank 0 over memory");
  CHECK(none.why_not->least_over == Bytes{120 - 79});
}

TEST_CASE("and what is chosen fits, or there is a reason") {
  Random random(42);
  int refused = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    std::vector<Costs> costs;
    const int count = random.between(4, 12);
    for (int s = 0; s < count; ++s) {
      costs.push_back({random.between(1, 9), random.between(1, 9), random.between(0, 5),
                       random.between(0, 9), random.between(0, 9), 1});
    }
    Choice choice{model_of_sections(costs), {}, random.between(100, 400)};
    choice.plan.schedule = "looped-bfs";
    choice.plan.pipeline = 2;
    choice.plan.chunks = 2;
    choice.plan.global_batch = random.between(1, 4);
    const Cuts cuts = choice.cuts();
    const SectionSums sums = sums_of(choice.model);
    REQUIRE(cuts.cuts.empty() == cuts.why_not.has_value());
    if (cuts.cuts.empty()) {
      ++refused;
      continue;
    }
    const TiedParameters ties(choice.model, 1);
    const HeldCounts held(liveness_of(choice.plan));
    const StageMemory limit(sums, ties, {choice.model.training, 1}, held, Bytes{0},
                            Bytes{choice.memory});
    for (std::size_t r = 0; r < 2; ++r) {
      CHECK(limit.total_of_rank(r, cuts.cuts) <= limit.capacity_of(0));
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("reasons are counted by role") {
  CHECK(role("stage", 0, 1) == "the only stage");
  CHECK(role("rank", 0, 3) == "rank 0");
  CHECK(role("stage", 1, 3) == "a middle stage");
  CHECK(role("stage", 2, 3) == "the last stage");
}

}  // namespace
}  // namespace penstock
