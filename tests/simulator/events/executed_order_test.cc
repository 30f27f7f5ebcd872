// The order that came about, against the checker, which works it out by itself.
#include "simulator/events/executed_order.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/check/check_parts.h"
#include "simulator/liveness.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/simulator/varuna.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;
using testing::varuna_program;

RankLists lists_of(const Program& program) {
  RankLists lists(static_cast<std::size_t>(program.ranks()));
  for (const Action& action : program.actions) {
    lists[static_cast<std::size_t>(program.rank_of(action).value)].push_back(action);
  }
  return lists;
}

std::string text_of_lists(const Program& program, const RankLists& lists) {
  std::string text;
  for (const std::vector<Action>& list : lists) {
    for (const Action& action : list) text += name_of(program, action) + ' ';
    text += '\n';
  }
  return text;
}

TEST_CASE("the checker finds the same order, ties in time included") {
  Random random(8);
  for (int round = 0; round < testing::draws(400); ++round) {
    const auto rule = static_cast<RunTimeRule>(random.between(1, 3));
    const int ranks = random.between(1, 6);
    PlanFile file;
    file.program = varuna_program(ranks, random.between(1, 25), rule);
    file.prices = testing::random_prices(random, ranks, 1);
    for (ComputePrice& price : file.prices.compute) {
      for (Price* each : {&price.forward, &price.recompute, &price.fused_backward}) {
        each->duration = Duration{random.between(1, 4)};
      }
    }
    Findings findings;
    const RankLists expected = executed_lists(file, lists_of(file.program), findings);
    CHECK(findings.empty());
    const Timeline timeline = simulate(file.program, file.prices, {});
    const Program executed = as_executed(file.program, timeline).program;
    CHECK(text_of_lists(executed, lists_of(executed)) == text_of_lists(file.program, expected));
  }
}

// Zero durations make many ties, which both break by end and stored order.
TEST_CASE("what ranks hold at most is that of the order that came about") {
  Random random(9);
  for (int round = 0; round < testing::draws(300); ++round) {
    const int ranks = random.between(1, 6);
    const auto rule = static_cast<RunTimeRule>(random.between(1, 3));
    const Program program = varuna_program(ranks, random.between(1, 40), rule);
    StagePrices prices = testing::random_prices(random, ranks, 1);
    for (ComputePrice& price : prices.compute) {
      for (Price* each : {&price.forward, &price.recompute, &price.fused_backward}) {
        each->duration = Duration{random.between(0, 3)};
      }
    }
    const Timeline timeline = simulate(program, prices, {});
    std::vector<std::int64_t> expected;
    for (const RankLiveness& rank : liveness(as_executed(program, timeline).program)) {
      expected.push_back(rank.peak_chunks);
    }
    REQUIRE(peak_stash(program, timeline) == expected);
  }
}

}  // namespace
}  // namespace penstock
