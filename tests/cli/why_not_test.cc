#include "studies/why_not.h"

#include <utility>

#include <doctest/doctest.h>

#include "cli/options/search_options.h"
#include "cli/options/why_not_choices.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

// 64 devices, 34 sections, T of 1, 2, 4 and 8.
Question question() {
  SearchOptions options;
  options.profile = "data/profiles/gpt-6.7b.a100-40gb.json";
  options.cluster = "data/clusters/a100-40gb-p4d-8x8.json";
  options.gpus = "8";
  options.global_batch = "16";
  return question_of(options);
}

// Only the plan itself matters.
PlanFile plan_on(int devices) {
  PlanFile file;
  file.plan.data = devices;
  return file;
}

WhyNot ask(const std::string& text) {
  SearchProgress progress;
  Question asked = question();
  const std::string choices = pin_choices(asked, text);
  WhyNot why = why_not(plan_on(8), std::move(asked), progress);
  why.asked = choices;
  return why;
}

std::string contradiction(const std::string& text) {
  const WhyNot why = ask(text);
  CHECK(why.result.candidates == 0);  // no search was needed
  REQUIRE(why.contradictions.size() == 1);
  return why.contradictions.front();
}

}  // namespace

TEST_CASE("the best plan with some choices is what a search with these pins finds") {
  const WhyNot why = ask("schedule=1f1b,P=4,T=1,b=1");
  CHECK(why.asked == "schedule=1f1b, PP=4, TP=1, mbs=1");
  CHECK(why.contradictions.empty());
  CHECK(why.remark.empty());
  Question pinned = question();
  pinned.request.pins.schedules = {"1f1b"};
  pinned.request.pins.pipeline = 4;
  pinned.request.pins.tensor = 1;
  pinned.request.pins.micro_batch_size = 1;
  SearchProgress progress;
  const SearchResult expected = best_plans(pinned.inputs(), pinned.request, progress);
  REQUIRE_FALSE(expected.best.empty());
  CHECK(why.result.best.front().plan == expected.best.front().plan);
}

TEST_CASE("more GPUs than the plan uses are said, more than there are are a contradiction") {
  CHECK(ask("schedule=1f1b,P=4,D=4,T=1").remark == "It needs 16 GPUs, 8 more than this plan uses.");
  CHECK(
      contradiction("P=16,D=8") ==
      "PP = 16, DP = 8 together need 128 GPUs (PP x DP x TP), but 8 x p4d.24xlarge has 64. DP = 4 "
      "is the largest that fits.");
  CHECK(ask("P=8,D=16,T=2147483647").contradictions.at(1).find("but 8 x p4d.24xlarge has 64") !=
        std::string::npos);
}

TEST_CASE("choices that contradict the batch, the model or each other are answered in words") {
  CHECK(contradiction("D=17") ==
        "DP = 17: a global batch of 16 has less than one sample per replica.");
  CHECK(contradiction("P=40") ==
        "PP = 40 makes 40 stages, but the model can be cut into no more than its 34 sections. "
        "PP = 34 is the most.");
  CHECK(contradiction("T=3") == "TP = 3: GPT-6.7B has times for TP = 1, 2, 4, 8 only.");
  CHECK(contradiction("schedule=interleaved,V=1") == "VP = 1: interleaved needs at least VP = 2.");
  CHECK(contradiction("schedule=1f1b,V=2") == "VP = 2: 1f1b has VP = 1.");
  CHECK(contradiction("schedule=interleaved,P=1") ==
        "PP = 1: interleaved has nothing to interleave on one rank.");
}

TEST_CASE("a key or a value that is none is a mistake") {
  const auto first_line = [](const std::string& text) {
    const std::string message = tests::message_of([&] { ask(text); });
    return message.substr(0, message.find('\n'));
  };
  CHECK(tests::message_of([] { ask("PPP=2"); }).starts_with("--why-not: unknown key 'PPP'"));
  CHECK(tests::message_of([] { ask("M=4"); }) ==
        "--why-not: unknown key 'M'\nhelp: micro-batches follow from the global batch, DP and mbs; "
        "ask for those");
  CHECK(first_line("gpus=4") == "--why-not: unknown key 'gpus'");
  CHECK(first_line("P=2,P=4") == "--why-not: P is given twice");
  CHECK(first_line("P=0") == "--why-not P: '0' is too small");
  CHECK(first_line("schedule=1f1c") == "--why-not schedule: unknown schedule '1f1c'");
  CHECK(first_line("P") == "--why-not: 'P' is not KEY=VALUE");
}
