#include "search/joint_cuts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "search/alike_cuts.h"
#include "search/choose_cuts.h"
#include "search/plan_program.h"
#include "search/run_totals.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Costs;
using testing::Random;

struct Question {
  ModelProfile model;
  Plan plan;
  Bytes memory;
};

// `alike`: all sections but the first and the last.
Question random_question(Random& random, const char* schedule, bool alike, int chunks = 2) {
  std::vector<Costs> costs;
  const int boundary = random.between(0, 5);
  const Costs layer{random.between(1, 9), random.between(1, 9), random.between(0, 5),
                    random.between(1, 9), random.between(0, 9)};
  const int count = random.between(6, 10);
  for (int s = 0; s < count; ++s) {
    costs.push_back({random.between(1, 9), random.between(1, 9), random.between(0, 12),
                     random.between(0, 12), random.between(0, 9)});
    if (alike && s > 0 && s + 1 < count) costs.back() = layer;
    costs.back().boundary = boundary;
  }
  Question q;
  q.model = testing::model_of_sections(costs);
  q.plan.pipeline = random.between(2, 4);
  testing::set_schedule(q.plan, *find_schedule(schedule), chunks);
  q.plan.global_batch = q.plan.pipeline * random.between(1, 3) * 2;
  q.memory = Bytes{random.between(60, 400)};
  return q;
}

std::int64_t busiest(const SectionSums& sums, const Plan& plan, BackwardKind backward,
                     const std::vector<int>& cuts) {
  std::vector<std::int64_t> work(static_cast<std::size_t>(plan.pipeline));
  const std::vector<std::int64_t>& prefix = sums.work_of(backward);
  for (int s = 0; s < plan.stages(); ++s) {
    const auto at = static_cast<std::size_t>(s % plan.stages_per_copy());
    work[static_cast<std::size_t>(plan.rank_of(s))] +=
        prefix[static_cast<std::size_t>(cuts[at + 1])] - prefix[static_cast<std::size_t>(cuts[at])];
  }
  return *std::max_element(work.begin(), work.end());
}

// Whether any cuts fit; calls `with` with all that do.
template <class With>
bool all_cuts_that_fit(const StageMemory& memory, const Plan& plan, int sections,
                       const With& with) {
  bool some = false;
  const auto stages = static_cast<std::size_t>(plan.stages_per_copy());
  std::vector<int> cuts(stages + 1, sections);
  for (std::size_t s = 0; s < stages; ++s) cuts[s] = static_cast<int>(s);
  for (;;) {
    bool fits = true;
    for (std::size_t r = 0; fits && r < static_cast<std::size_t>(plan.pipeline); ++r) {
      fits = memory.total_of_rank(r, cuts) <= memory.capacity()[static_cast<int>(r)];
    }
    some = some || fits;
    if (fits && !with(cuts)) return true;
    std::size_t at = stages - 1;
    while (at > 0 && cuts[at] == sections - static_cast<int>(stages - at)) --at;
    if (at == 0) return some;
    ++cuts[at];
    for (std::size_t s = at + 1; s < stages; ++s) cuts[s] = cuts[s - 1] + 1;
  }
}

bool some_cuts_fit(const StageMemory& memory, const Plan& plan, int sections) {
  return all_cuts_that_fit(memory, plan, sections, [](const auto&) { return false; });
}

struct Tally {
  int fit = 0, rescued = 0, none = 0, missed = 0, proven = 0;
};

// choose_cuts() against all cuts.
void ask(Random& random, const char* schedule, Tally& tally) {
  CAPTURE(schedule);
  const Question q = random_question(random, schedule, random.coin());
  const int sections = static_cast<int>(q.model.sections.size());
  if (q.plan.stages_per_copy() > sections || !why_no_program(q.plan).empty()) return;
  const SectionSums sums = testing::sums_of(q.model);
  const TiedParameters ties(q.model, 1);
  const HeldCounts held(liveness_of(q.plan));
  const StageMemory memory(sums, ties, {q.model.training, 1}, held, Bytes{0}, q.memory);
  const BackwardKind backward = find_schedule(schedule)->backward;
  const auto balanced = balanced_cuts(sums, q.plan, backward).value();
  const Cuts cuts = choose_cuts(sums, memory, q.plan, backward, balanced);
  const bool possible = some_cuts_fit(memory, q.plan, sections);
  if (!may_fit(memory, q.plan)) CHECK_FALSE(possible);
  REQUIRE(cuts.cuts.empty() == cuts.why_not.has_value());
  if (cuts.cuts.empty()) {
    if (cuts.none_is_proven) CHECK_FALSE(possible);
    tally.proven += cuts.none_is_proven;
    ++(possible ? tally.missed : tally.none);
    return;
  }
  for (std::size_t r = 0; r < static_cast<std::size_t>(q.plan.pipeline); ++r) {
    CHECK(memory.total_of_rank(r, cuts.cuts) <= q.memory);
  }
  ++tally.fit;
  if (cuts.cuts != balanced) ++tally.rescued;
}

TEST_CASE("what a rank holds, kept up to date, is what summing up its runs says") {
  Random random(60);
  int more_than_one_peak = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    CAPTURE(i);
    for (const char* schedule : {"interleaved", "interleaved-zb", "zb-v", "dualpipe", "chimera"}) {
      CAPTURE(schedule);
      const Question q = random_question(random, schedule, random.coin(), random.between(2, 5));
      if (!why_no_program(q.plan).empty()) continue;
      const SectionSums sums = testing::sums_of(q.model);
      const TiedParameters ties(q.model, 1);
      const HeldCounts held(liveness_of(q.plan));
      const StageMemory memory(sums, ties, {q.model.training, 1 + i % 3}, held, Bytes{i}, q.memory);
      const auto rank = static_cast<std::size_t>(random.between(0, q.plan.pipeline - 1));
      more_than_one_peak += held.peaks(rank) > 1 ? 1 : 0;
      RunTotals totals(memory, rank);
      std::vector<StageMemory::Run> runs(memory.stages_of(rank).size());
      for (int change = 0; change < 20; ++change) {
        const int chunk = random.between(0, static_cast<int>(runs.size()) - 1);
        const int first = random.between(0, sums.sections());
        const StageMemory::Run run{first, random.between(first, sums.sections())};
        runs[static_cast<std::size_t>(chunk)] = run;
        totals.set(static_cast<std::size_t>(chunk), run);
        CHECK(totals.total() == memory.total_of_runs(rank, runs));
      }
    }
  }
  CHECK(more_than_one_peak > testing::least(300));
}

TEST_CASE("on the V and with two copies nothing fits where none is found: all cuts tried") {
  Random random(61);
  Tally tally;
  for (int i = 0; i < testing::draws(400); ++i) {
    CAPTURE(i);
    for (const char* schedule : {"zb-v", "v-half", "v-min", "dualpipe", "chimera"}) {
      ask(random, schedule, tally);
    }
  }
  CHECK(tally.missed == 0);
  CHECK(tally.fit > testing::least(200));
  CHECK(tally.rescued > testing::least(50));
  CHECK(tally.none > testing::least(200));
}

TEST_CASE("and on the loop, whose layers may differ") {
  Random random(62);
  Tally tally;
  for (int i = 0; i < testing::draws(500); ++i) {
    CAPTURE(i);
    for (const char* schedule : {"interleaved", "looped-bfs"}) ask(random, schedule, tally);
  }
  CHECK(tally.rescued > testing::least(30));
  CHECK(tally.missed == 0);
  CHECK(tally.proven == tally.none);
  CHECK(tally.none > testing::least(100));
}

TEST_CASE("where layers are alike every map is exact, and the busiest rank is least busy") {
  Random random(64);
  int fit = 0, none = 0;
  for (int i = 0; i < testing::draws(900); ++i) {
    CAPTURE(i);
    const std::array kinds{"zb-v", "v-min", "dualpipe", "chimera", "interleaved", "looped-bfs"};
    const char* schedule = kinds[static_cast<std::size_t>(random.between(0, 5))];
    CAPTURE(schedule);
    const Question q = random_question(random, schedule, true, random.between(2, 3));
    const int sections = static_cast<int>(q.model.sections.size());
    if (q.plan.stages_per_copy() > sections || !why_no_program(q.plan).empty()) continue;
    const SectionSums sums = testing::sums_of(q.model);
    const TiedParameters ties(q.model, 1);
    const HeldCounts held(liveness_of(q.plan));
    const StageMemory memory(sums, ties, {q.model.training, random.between(1, 3)}, held, Bytes{0},
                             q.memory);
    const BackwardKind backward = find_schedule(schedule)->backward;
    REQUIRE(are_alike(sums, memory, q.plan));
    const auto cuts = alike_cuts(sums, memory, q.plan, backward).cuts;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const bool possible = all_cuts_that_fit(memory, q.plan, sections, [&](const auto& some) {
      least = std::min(least, busiest(sums, q.plan, backward, some));
      return true;
    });
    REQUIRE(cuts.has_value() == possible);
    ++(possible ? fit : none);
    if (!cuts) continue;
    CHECK(std::adjacent_find(cuts->begin(), cuts->end(), std::greater_equal<>()) == cuts->end());
    CHECK(busiest(sums, q.plan, backward, *cuts) == least);
    for (std::size_t r = 0; r < static_cast<std::size_t>(q.plan.pipeline); ++r) {
      CHECK(memory.total_of_rank(r, *cuts) <= q.memory);
    }
  }
  CHECK(fit > testing::least(200));
  CHECK(none > testing::least(100));
}

// What the pairs' own program answers, without the moves that come before it.
TEST_CASE("pairs of stages by themselves are exact") {
  Random random(63);
  int fit = 0, none = 0;
  for (int i = 0; i < testing::draws(600); ++i) {
    CAPTURE(i);
    const Question q = random_question(random, random.coin() ? "zb-v" : "dualpipe", random.coin());
    const int sections = static_cast<int>(q.model.sections.size());
    if (q.plan.stages_per_copy() > sections || !why_no_program(q.plan).empty()) continue;
    const SectionSums sums = testing::sums_of(q.model);
    const TiedParameters ties(q.model, 1);
    const HeldCounts held(liveness_of(q.plan));
    const StageMemory memory(sums, ties, {q.model.training, 1}, held, Bytes{0}, q.memory);
    REQUIRE(are_pairs(memory, q.plan));
    const auto cuts = pair_cuts(memory, q.plan, sections);
    REQUIRE(cuts.has_value() == some_cuts_fit(memory, q.plan, sections));
    if (!cuts) {
      ++none;
      continue;
    }
    ++fit;
    CHECK(std::adjacent_find(cuts->begin(), cuts->end(), std::greater_equal<>()) == cuts->end());
    for (std::size_t r = 0; r < static_cast<std::size_t>(q.plan.pipeline); ++r) {
      CHECK(memory.total_of_rank(r, *cuts) <= q.memory);
    }
  }
  CHECK(fit > testing::least(80));
  CHECK(none > testing::least(80));
}

}  // namespace
}  // namespace penstock
