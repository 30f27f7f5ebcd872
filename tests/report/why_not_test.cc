#include "report/why_not.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

// The other plan: 120 ms, of which its busiest rank works 115 ms and waits 5 for links; it needs
// nothing more certain than 2 %.
WhyNot slower() {
  WhyNot why;
  why.asked = "P=3";
  RankedPlan best = tests::ranked();
  best.plan.pipeline = 3;
  best.plan.cuts = {0, 1, 2, 3};
  best.evaluation.step_time = best.evaluation.makespan = 120ms;
  best.evaluation.step_time_low = 118ms;
  best.evaluation.step_time_high = 122ms;
  best.evaluation.ranks = {tests::rank(80, 30), tests::rank(80, 35), tests::rank(80, 10)};
  best.evaluation.ranks[0].time.busy = 115ms;
  best.evaluation.ranks[0].time.warm_up = 0ms;
  best.evaluation.ranks[0].time.transfer = 5ms;
  why.result.best = {best};
  why.result.candidates = why.result.evaluated = 1;
  why.relative_half_width = 0.05;
  return why;
}

// With its sentences in one line each.
std::string text(const WhyNot& why) {
  std::string text = why_not_text(why, tests::plan(), tests::evaluation(), Screen{});
  for (std::size_t at = 0; (at = text.find("\n    ", at)) != std::string::npos;) {
    text.replace(at, 5, " ");
  }
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a slower plan says by how much, where the time goes, and what it needs") {
  const std::string told = text(slower());
  for (const char* part : {"Why not P=3?\n", "The best with it: TP 1 x PP 3 x DP 3, mbs 2, ",
                           "  compute             90.00 ms   115.0 ms   +25.00 ms\n",
                           "  warm-up             10.00 ms       0 ns   -10.00 ms\n",
                           "  step                100.0 ms   120.0 ms   +20.00 ms\n",
                           "  fullest rank, GiB  30.0/40.0  35.0/40.0\n",
                           "  GPUs                       6          9          +3\n"}) {
    CHECK_MESSAGE(has(told, part), told);
  }
  CHECK(has(told,
            "It is slower: its step is longer by 20.0 %, because its busiest rank computes 25 ms "
            "longer and waits 5 ms longer for links."));
  CHECK(has(told, "The comparison of the two is sure enough for that (+-5.0 %)."));
  const Json json = to_json(slower(), tests::plan(), tests::evaluation());
  CHECK(json.find("answer")->text() == "slower");
  CHECK(json.find("busiest_rank_longer")->find("compute_ns")->text() == "25000000");
  CHECK(json.find("busiest_rank_longer")->find("warm_up_ns")->text() == "-10000000");
}

TEST_CASE("a difference within the uncertainty, a faster plan and the plan itself are said so") {
  WhyNot why = slower();
  why.result.best[0].evaluation.step_time = 103ms;
  why.result.best[0].evaluation.step_time_low = 101ms;
  why.result.best[0].evaluation.step_time_high = 105ms;
  CHECK(has(text(why), "That is less than the comparison of the two is sure of (+-5.0 %)."));
  why.result.best[0].evaluation.step_time = 80ms;
  CHECK(has(text(why), "It is faster than this plan by 25.0 %"));
  CHECK(to_json(why, tests::plan(), tests::evaluation()).find("answer")->text() == "faster");
  why.result.best = {tests::ranked()};
  CHECK(has(text(why), "This plan has it already, and is the best that has it."));
  CHECK_FALSE(has(text(why), "difference"));
}

TEST_CASE("what cannot run says which constraint, by how much, and the smallest remedy") {
  WhyNot why;
  why.asked = "P=1";
  why.result.candidates = 3;
  why.result.rejected = {
      {"the only stage over memory", 3, Bytes{1LL << 30}, Bytes{2LL << 30}, "recompute=full"}};
  why.result.nearest_miss = why.result.rejected[0];
  const std::string told = text(why);
  CHECK_MESSAGE(has(told,
                    "No plan with it can run. Nearest miss: the only stage over memory by "
                    "1.0 GiB to 2.0 GiB"),
                told);
  CHECK(has(told, "would fit with "));
  CHECK(to_json(why, tests::plan(), tests::evaluation()).find("answer")->text() == "cannot run");

  why = {};
  why.asked = "D=99";
  why.contradictions = {"D = 99: too many."};
  CHECK(text(why) == "Why not D=99?\n  D = 99: too many.\n");
  CHECK(to_json(why, tests::plan(), tests::evaluation()).find("answer")->text() == "contradiction");
}
