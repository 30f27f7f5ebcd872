#include "report/plan_answer.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

namespace {

// Eight plans that differ in their schedules, with everything that an answer can show.
SearchResult full_result() {
  SearchResult result;
  for (const char* schedule : {"grouped-interleaved", "interleaved-zb", "v-half", "zb-v", "1f1b",
                               "zb-h1", "gpipe", "dualpipe-v"}) {
    RankedPlan ranked = tests::ranked();
    ranked.plan.schedule = schedule;
    ranked.plan.chunks = 2;
    ranked.plan.sequence_length = 8192;
    ranked.plan.recompute = "selective";
    ranked.evaluation.usd_per_step = 0.25;
    ranked.tied_with_best = !result.best.empty();
    result.best.push_back(ranked);
  }
  result.least_possible = Duration{80'000'000};
  return result;
}

PlanAnswer about(std::size_t width) {
  PlanAnswer about;
  about.question =
      "A model with a long name (estimated) on 16 x 8 h100-sxm (assumed), gbs 20, sequence length "
      "8192";
  about.gpus = 8;
  about.flops = ModelFlops{3e12, FlopConvention::kMegatron, {{"a100", 4e14}}};
  about.not_modelled = {"expert parallelism (here every TP group holds all experts of its layers)",
                        "ZeRO-2 and ZeRO-3 (FSDP)", "context parallelism"};
  about.rerun =
      "penstock plan folder/config.json --device h100-sxm --gpus 8 --global-batch 20 "
      "--usd-per-gpu-hour 2.5 -o plan.json";
  about.next = {"penstock explain plan.json", "penstock export plan.json --to megatron -o job"};
  about.hint = "; --for megatron plans for that trainer";
  about.width = width;
  return about;
}

// Of a model of which everything is modelled: two or three lines less.
PlanAnswer roomy(std::size_t width) {
  PlanAnswer roomy = about(width);
  roomy.not_modelled.clear();
  return roomy;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

// 20 samples of 8192 tokens in 100 ms on 6 GPUs: 273,067 tokens/s each; 3e12 x 200 / 6 = 100
// TFLOP/s of 400; $0.25 for 163,840 tokens.
TEST_CASE("the first sentences say what to use, what it gives and how full the GPUs are") {
  const SearchResult result = full_result();
  const RankedPlan& best = result.best.front();
  CHECK(plan_sentences(best.plan, best.evaluation, about(100)) ==
        std::vector<std::string>{
            "Use TP 1 x PP 2 x DP 3, VP 2 on 6 of 8 GPUs, mbs 2, grouped-interleaved, selective "
            "recompute.",
            "A step takes 100 ms (95.0 to 105 ms): 273,067 tokens/s and 100 TFLOP/s per GPU, MFU "
            "25 % (24 to 26). The fullest rank holds 30.0 of 40.0 GiB. $1.53 per million tokens, "
            "at $1500 per GPU and hour."});
  PlanAnswer unknown = about(100);
  unknown.flops.reset();
  CHECK(plan_sentences(best.plan, best.evaluation, unknown)[1] ==
        "A step takes 100 ms (95.0 to 105 ms): 273,067 tokens/s per GPU. The fullest rank holds "
        "30.0 of 40.0 GiB. $1.53 per million tokens, at $1500 per GPU and hour.");
}

TEST_CASE("from 60 columns on an answer has at most twenty lines, and none is too long") {
  for (std::size_t width = 60; width <= 200; ++width) {
    CAPTURE(width);
    const std::string text = plan_answer(full_result(), about(width));
    const std::vector<std::string> lines = lines_of(text);
    CHECK(lines.size() <= 20);
    for (const std::string& line : lines) CHECK_MESSAGE(line.size() <= width, line);
    CHECK(text.find("\nUse TP 1 x PP 2 x DP 3, VP 2") != std::string::npos);
    CHECK(text.find("\nNot modelled: expert parallelism") != std::string::npos);
    CHECK(text.ends_with("penstock export plan.json --to megatron -o job\n"));
    if (width >= 70) CHECK(text.find("\n2  100 ms") != std::string::npos);
  }
}

// Of the eight, 1f1b comes fifth and as fast as the first.
TEST_CASE("a simpler plan that is nearly as fast is in the table and named above it") {
  const std::string wide = plan_answer(full_result(), roomy(140));
  CHECK(wide.find("\nAs fast and simpler: plan 5 (schedule 1f1b).\n\n#") != std::string::npos);
  PlanAnswer few = about(140);
  few.most_plans = 3;  // it takes the last row
  CHECK(plan_answer(full_result(), few).find("simpler: plan 3 (schedule 1f1b).") !=
        std::string::npos);
  few.most_plans = 1;
  CHECK(plan_answer(full_result(), few)
            .find("simpler: TP 1 x PP 2 x DP 3, VP 2, mbs 2, 1f1b (schedule 1f1b).") !=
        std::string::npos);
  SearchResult one = full_result();
  one.best.resize(4);  // without a usual schedule
  CHECK(plan_answer(one, about(140)).find("simpler") == std::string::npos);
}

// Ten plans or one, with little room or much.
TEST_CASE("all answers look alike: blank lines around the table, and what the replicas divide") {
  for (const std::size_t plans : {1U, 8U}) {
    SearchResult result = full_result();
    result.best.resize(plans);
    for (const std::size_t width : {70U, 100U, 140U}) {
      CAPTURE(plans);
      CAPTURE(width);
      const std::string text = plan_answer(result, roomy(width));
      CHECK(text.find(".\n\n#") != std::string::npos);
      CHECK(text.find(".\n\nNext") != std::string::npos);
      if (width >= 140) CHECK(text.find(" shards ") != std::string::npos);
    }
  }
}

TEST_CASE("with room there are five plans, every column and the command for a plan file") {
  const std::string text = plan_answer(full_result(), roomy(140));
  CHECK(text.find(
            "#    step  tokens/s/GPU MFU%  TP PP DP VP mbs  schedule            recompute shards  "
            "GiB idle% $/Mtok\n") != std::string::npos);
  CHECK(text.find("\n5  100 ms") != std::string::npos);
  CHECK(text.find("\n6  100 ms") == std::string::npos);
  CHECK(text.find("Plans 2 to 5 tie with plan 1. Proven: no plan of the search is more than 25.0 % "
                  "faster.\n") != std::string::npos);
  CHECK(text.find("  penstock plan folder/config.json") != std::string::npos);
}

TEST_CASE("a long command is broken before an option, as a shell takes it") {
  SearchResult result = full_result();
  result.best.resize(1);
  const std::string text = plan_answer(result, roomy(80));
  CHECK(text.find("  penstock plan folder/config.json --device h100-sxm --gpus 8 \\\n"
                  "      --global-batch 20 --usd-per-gpu-hour 2.5 -o plan.json\n") !=
        std::string::npos);
}

TEST_CASE("as many plans as were asked for are shown, whatever room that takes") {
  PlanAnswer asked = about(60);
  asked.most_plans = 8;
  asked.shows_all_plans = true;
  CHECK(plan_answer(full_result(), asked).find("\n8  100 ms") != std::string::npos);
}

TEST_CASE("a search that was stopped proves nothing") {
  SearchResult result = full_result();
  result.complete = false;
  const std::string text = plan_answer(result, about(100));
  CHECK(text.find("The search was stopped: a better plan may exist.") != std::string::npos);
  CHECK(text.find("Proven") == std::string::npos);
}

// 40 x 0.07 / 1.07 = 2.6 GiB of reserve.
TEST_CASE("where an estimate of the memory may be too small, a plan with room is named") {
  SearchResult result = full_result();
  PlanAnswer words = about(100);
  words.memory_is_estimated = true;
  const auto says = [&](const std::string& text) {
    std::string answer = plan_answer(result, words);
    std::replace(answer.begin(), answer.end(), '\n', ' ');
    return answer.find(text) != std::string::npos;
  };
  CHECK_FALSE(says("Memory may be"));  // 30 of 40 GiB
  for (RankedPlan& ranked : result.best) ranked.evaluation.ranks[0] = tests::rank(80, 38);
  CHECK(
      says("up to 7 % above the estimate, as in published runs; --reserve-gib 3 asks for plans "
           "with room for "
           "that. "));
  result.best[1].evaluation.ranks[0] = tests::rank(80, 30);
  result.best[1].evaluation.step_time = std::chrono::milliseconds(103);
  CHECK(says("plan 2 would fit, 3.0 % slower. "));
  std::swap(result.best[1], result.best[7]);  // the last of eight takes the last row
  CHECK(says("would fit, 3.0 % slower. "));
  CHECK(says(" 103 ms "));
  words.memory_is_estimated = false;
  CHECK_FALSE(says("Memory may be"));
}
