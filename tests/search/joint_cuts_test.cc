#include "search/joint_cuts.h"

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "search/choose_cuts.h"
#include "search/plan_program.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::Costs;
using testing::Random;

struct Question {
  ModelProfile model;
  Plan plan;
  Bytes memory;
};

Question random_question(Random& random, const char* schedule) {
  std::vector<Costs> costs;
  const int boundary = random.between(0, 5);
  const bool alike = random.coin();  // all but the first and the last
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
  testing::set_schedule(q.plan, *find_schedule(schedule), 2);
  q.plan.global_batch = q.plan.pipeline * random.between(1, 3) * 2;
  q.memory = Bytes{random.between(60, 400)};
  return q;
}

// Whether any cuts fit.
bool some_cuts_fit(const StageMemory& memory, const Plan& plan, int sections) {
  const auto stages = static_cast<std::size_t>(plan.stages_per_copy());
  std::vector<int> cuts(stages + 1, sections);
  for (std::size_t s = 0; s < stages; ++s) cuts[s] = static_cast<int>(s);
  for (;;) {
    bool fits = true;
    for (std::size_t r = 0; fits && r < static_cast<std::size_t>(plan.pipeline); ++r) {
      fits = memory.total_of_rank(r, cuts) <= memory.capacity()[static_cast<int>(r)];
    }
    if (fits) return true;
    std::size_t at = stages - 1;
    while (at > 0 && cuts[at] == sections - static_cast<int>(stages - at)) --at;
    if (at == 0) return false;
    ++cuts[at];
    for (std::size_t s = at + 1; s < stages; ++s) cuts[s] = cuts[s - 1] + 1;
  }
}

struct Tally {
  int fit = 0, rescued = 0, none = 0, missed = 0;
};

// choose_cuts() against all cuts.
void ask(Random& random, const char* schedule, Tally& tally) {
  CAPTURE(schedule);
  const Question q = random_question(random, schedule);
  const int sections = static_cast<int>(q.model.sections.size());
  if (q.plan.stages_per_copy() > sections || !why_no_program(q.plan).empty()) return;
  const SectionSums sums = testing::sums_of(q.model);
  const TiedParameters ties(q.model, 1);
  const HeldCounts held(liveness_of(q.plan));
  const StageMemory memory(sums, ties, q.model.training, 1, held, Bytes{0}, q.memory);
  const BackwardKind backward = find_schedule(schedule)->backward;
  const auto balanced = balanced_cuts(sums, q.plan, backward).value();
  const Cuts cuts = choose_cuts(sums, memory, q.plan, backward, balanced);
  const bool possible = some_cuts_fit(memory, q.plan, sections);
  if (!may_fit(memory, q.plan)) CHECK_FALSE(possible);
  REQUIRE(cuts.cuts.empty() == cuts.why_not.has_value());
  if (cuts.cuts.empty()) {
    ++(possible ? tally.missed : tally.none);
    return;
  }
  for (std::size_t r = 0; r < static_cast<std::size_t>(q.plan.pipeline); ++r) {
    CHECK(memory.total_of_rank(r, cuts.cuts) <= q.memory);
  }
  ++tally.fit;
  if (cuts.cuts != balanced) ++tally.rescued;
}

TEST_CASE("on the V and with two copies nothing fits where none is found: all cuts tried") {
  Random random(61);
  Tally tally;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    for (const char* schedule : {"zb-v", "v-half", "v-min", "dualpipe", "chimera"}) {
      ask(random, schedule, tally);
    }
  }
  CHECK(tally.missed == 0);
  CHECK(tally.fit > 200);
  CHECK(tally.rescued > 50);
  CHECK(tally.none > 200);
}

TEST_CASE("and on the loop hardly ever") {
  Random random(62);
  Tally tally;
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    for (const char* schedule : {"interleaved", "looped-bfs"}) ask(random, schedule, tally);
  }
  CHECK(tally.rescued > 30);
  CHECK(tally.missed * 50 <= tally.fit + tally.missed);
}

// What the pairs' own program answers, without the moves that come before it.
TEST_CASE("pairs of stages by themselves are exact") {
  Random random(63);
  int fit = 0, none = 0;
  for (int i = 0; i < 600; ++i) {
    CAPTURE(i);
    const Question q = random_question(random, random.coin() ? "zb-v" : "dualpipe");
    const int sections = static_cast<int>(q.model.sections.size());
    if (q.plan.stages_per_copy() > sections || !why_no_program(q.plan).empty()) continue;
    const SectionSums sums = testing::sums_of(q.model);
    const TiedParameters ties(q.model, 1);
    const HeldCounts held(liveness_of(q.plan));
    const StageMemory memory(sums, ties, q.model.training, 1, held, Bytes{0}, q.memory);
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
  CHECK(fit > 80);
  CHECK(none > 80);
}

}  // namespace
}  // namespace penstock
