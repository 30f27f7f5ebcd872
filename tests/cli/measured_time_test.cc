#include "cli/words/measured_time.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

using tests::message_of;

// 16 GPUs, 64 samples of 4096 tokens: 262,144 tokens a step.
Plan plan() {
  Plan plan;
  plan.tensor = 2;
  plan.pipeline = 4;
  plan.data = 2;
  plan.global_batch = 64;
  plan.sequence_length = 4096;
  return plan;
}

std::string refusal(const std::string& typed, const std::string& layout = "") {
  return message_of([&] { static_cast<void>(step_time_of(typed, layout, plan())); });
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a time of a step is read, also as a progress bar shows it") {
  CHECK(step_time_of("4.4s", "", plan()) == std::chrono::milliseconds(4400));
  CHECK(step_time_of("2.4s/it", "", plan()) == std::chrono::milliseconds(2400));
}

TEST_CASE("other units of time are written as they are here") {
  CHECK(refusal("4.4secs").ends_with("help: write --measured 4.4s"));
  CHECK(refusal("2min").ends_with("help: write --measured 120.000s"));
  CHECK(refusal("4.4secs", "TP=2 gbs=64").ends_with("write --measured \"TP=2 gbs=64: 4.4s\""));
}

TEST_CASE("a number alone is in ms where it is large, and else in s") {
  CHECK(says(refusal("3120.4"), "write --measured 3120.4ms"));
  CHECK(says(refusal("4.4"), "write --measured 4.4s"));
}

TEST_CASE("rates become the time of a step, with the arithmetic") {
  // 1 / 3.2 s = 312.5 ms
  CHECK(says(refusal("3.2it/s"), "1 / 3.2 a second is 312.500ms: write --measured 312.500ms"));
  // 64 / 20 s = 3.2 s
  CHECK(says(refusal("20samples/s"), "64 samples / 20 a second is 3.200s"));
  // 262,144 / 8192 s = 32 s, and 2 s where each of 16 GPUs has that rate
  const std::string tokens = refusal("8192tok/s");
  CHECK(says(tokens, "64 x 4096 tokens / 8192 a second is 32.000s: write --measured 32.000s"));
  CHECK(says(tokens, "where each of the 16 GPUs does so many: --measured 2.000s"));
  CHECK(says(refusal("8192tokens/s/gpu"), "(8192 a second x 16 GPUs) is 2.000s"));
}

TEST_CASE("what is no time says where it belongs") {
  CHECK(says(refusal("38%"), "predict prints its MFU"));
  CHECK(says(refusal("train.log"), "penstock validate plan.json train.log"));
}

}  // namespace penstock
