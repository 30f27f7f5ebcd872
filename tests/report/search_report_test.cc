#include "report/search_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;

namespace {

SearchReport about() {
  SearchReport about;
  about.question = "model on cluster: at most 6 GPUs, global batch 20";
  about.origin = "penstock 0.1.0";
  about.section_names = {"embedding", "layer", "head"};
  return about;
}

}  // namespace

TEST_CASE("when nothing fits, the nearest miss comes first and the counts follow") {
  SearchResult result;
  result.candidates = 9;
  result.rejected = {{"stage 0 over memory", 9, Bytes{1LL << 30}, Bytes{2LL << 30}, "recompute"}};
  result.nearest_miss = result.rejected[0];
  result.nearest_miss->most_over = result.nearest_miss->least_over;
  result.not_searched = {"ZeRO-3"};
  CHECK(search_report(result, about(), Screen{}) ==
        "model on cluster: at most 6 GPUs, global batch 20\n"
        "penstock 0.1.0\n"
        "\n"
        "No plan fits.\n"
        "Nearest miss: stage 0 over memory by 1.0 GiB; would fit with recompute.\n"
        "\n"
        "Candidates\n"
        "  9 candidates: 0 simulated, 9 cannot run.\n"
        "  9 candidates: stage 0 over memory by 1.0 GiB to 2.0 GiB; would fit with recompute\n"
        "\n"
        "Not searched\n"
        "  ZeRO-3\n");
}

TEST_CASE("the best plan is explained section by section") {
  SearchResult result;
  result.best = {tests::ranked()};
  result.candidates = result.evaluated = 1;
  const std::string text = search_report(result, about(), Screen{});
  std::size_t from = 0;
  for (const char* expected :
       {"idle%\n1 ", "\nPlan 1\n  Step 100 ms, between 95 ms and 105 ms; bubble 10.0",
        "  PP ranks are next to each other.\n", "  Memory: rank 0 is the fullest: ",
        "  Time of rank 1, the busiest, in a step of 100 ms:\n",
        "  0: embedding..layer (2) | 1: head (1)\n", "\nMemory of plan 1 by rank (GiB)\n",
        "\nCandidates\n  1 candidate: 1 simulated.\n"}) {
    const std::size_t at = text.find(expected, from);
    CHECK_MESSAGE(at != std::string::npos, expected);
    from = at == std::string::npos ? from : at;
  }
}

TEST_CASE("a rival is slower, equal, faster, or cannot run") {
  const RankedPlan best = tests::ranked();
  Rival rival;
  rival.name = "equal split";
  rival.plan = best.plan;
  rival.evaluation = best.evaluation;
  const auto text = [&] { return rival_text(rival, best.plan, best.evaluation); };
  CHECK(text() == "equal split: step 100 ms, as fast as plan 1");
  rival.evaluation.step_time = Duration(125'000'000);
  CHECK(text() == "equal split: step 125 ms, plan 1 is 1.250 times as fast");
  rival.evaluation.step_time = Duration(80'000'000);
  CHECK(text() == "equal split: step 80 ms, plan 1 is slower, 0.800 times as fast");
  rival.why_not = "stage 0 over memory";
  CHECK(text() == "equal split: cannot run: stage 0 over memory");
}
