#include "core/values/run_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

RunLog example() {
  RunLog log;
  log.header = {.model = "gpt",
                .plan = "plan.json",
                .plan_hash = "fnv1a64:0123456789abcdef",
                .tool_version = "0.1.0",
                .transport = "gloo",
                .device = "cpu",
                .host = "a",
                .started = "2026-11-22T01:02:03Z",
                .library = "LibTorch 1.13.1",
                .precision = "float32",
                .ranks = 2,
                .threads_per_rank = 1,
                .first_step = 7};
  MeasuredStep step;
  step.step = 7;
  step.loss = 5.25;
  step.gradient_norm = 0.5;
  step.tokens = 2048;
  step.step_time = Duration{100};
  step.phases = {Duration{60}, Duration{20}, Duration{15}, Duration{5}};
  log.steps.push_back(step);
  step.step = 8;
  step.skipped = true;
  step.rank_compute = {Duration{60}, Duration{55}};
  step.ranks = {{0, 0, 0, {Duration{0}, Duration{10}}, {Duration{10}, Duration{10}}},
                {1, 0, 1, {Duration{5}}, {Duration{100}}}};
  step.ranks[0].sections = {{ActionKind::kUnshard, 3, Duration{1}, Duration{4}},
                            {ActionKind::kReduceGradient, 3, Duration{6}, Duration{9}}};
  step.plan = "other.json";
  step.plan_hash = "fnv1a:2";
  log.steps.push_back(step);
  return log;
}

std::string text_of(const RunLog& log) {
  std::string text = write_run_header(log.header) + '\n';
  for (const MeasuredStep& step : log.steps) text += write_measured_step(step) + '\n';
  return text;
}

std::string complaint(const std::string& text) {
  return tests::message_of([&] { static_cast<void>(read_run_log(text, "run.jsonl")); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("a run is read as it was written, a line per step") {
  const std::string text = text_of(example());
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(read_run_log(text, "run.jsonl") == example());
}

TEST_CASE("a run that was cut off in the middle of a line keeps its whole steps") {
  RunLog expected = example();
  expected.steps.pop_back();
  const std::string text = text_of(example());
  CHECK(read_run_log(text.substr(0, text.size() - 1), "run.jsonl") == expected);
  CHECK(complaint("{\"format\"").find("run.jsonl:1: expected a line") == 0);
  CHECK(complaint("").find("got an empty file") != std::string::npos);
}

TEST_CASE("a loss that is no number is written as null") {
  RunLog log = example();
  log.steps[0].loss = std::numeric_limits<double>::infinity();
  const std::string text = text_of(log);
  CHECK(text.find("\"loss\": null") != std::string::npos);
  CHECK(std::isnan(read_run_log(text, "run.jsonl").steps[0].loss));
}

TEST_CASE("what is wrong in a run is named with its line") {
  const std::string text = text_of(example());
  CHECK(complaint(replaced(text, "\"tokens\"", "\"token\"")).find("run.jsonl:2:1: ") == 0);
  CHECK(complaint(replaced(text, "\"plan\": \"other.json\", ", "")).find("run.jsonl:3:1: ") ==
        0);  // a hash and no file
  CHECK(complaint(replaced(text, "[5]", "[500]")) ==
        "run.jsonl:3:1: /ranks/1/end_ns: action 0 ends before it starts");
  CHECK(complaint(replaced(text, "[5]", "[5, 6]")) ==
        "run.jsonl:3:1: /ranks/1/end_ns: expected as many times as start_ns has, 2, got 1");
  CHECK(complaint(replaced(text, "UNSHARD", "OPT")) ==
        "run.jsonl:3:1: /ranks/0/sections/0/kind: expected \"UNSHARD\" or \"REDUCE_GRAD\"");
  CHECK(complaint(replaced(text, "[60, 55]", "[]")) ==
        "run.jsonl:3:1: /rank_compute_ns: expected one time for each rank, got none");
  CHECK(complaint(replaced(text, "penstock.run/1", "penstock.run/2")).find("run.jsonl:1:1: ") == 0);
}

}  // namespace
}  // namespace penstock
