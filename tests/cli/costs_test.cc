#include "cli/options/costs.h"

#include <doctest/doctest.h>

#include "core/values/json.h"
#include "tests/core/messages.h"

using namespace penstock;
using namespace std::chrono_literals;
using tests::message_of;

namespace {

std::string cost_message(const char* text, bool split) {
  const std::string message = message_of([&] { parse_costs({text}, split, 2); });
  return message.substr(0, message.find('\n'));
}

// What is wrong with a cost file of two stages.
std::string file_message(const std::string& text) {
  return message_of([&] { read_costs(parse_json(text, ""), "", false, 2); });
}

}  // namespace

TEST_CASE("every stage costs the same, and the last one sends nothing on") {
  const ScheduleCosts costs = parse_costs({"F=1ms,B=2ms", "C=0.5ms"}, false, 2);
  CHECK(costs.prices.compute.size() == 2);
  CHECK(costs.prices.compute_of(1, 0).forward.duration == 1ms);
  CHECK(costs.prices.compute_of(1, 0).fused_backward.duration == 2ms);
  CHECK(costs.prices.transfer_of(0, 0).activation.duration == 500us);
  CHECK(costs.prices.transfer_of(0, 0).gradient.duration == 500us);
  CHECK(costs.prices.transfer_of(1, 0).activation.duration == 0ms);
  CHECK_FALSE(costs.recompute);
  CHECK(costs.words == "F=1ms,B=2ms,C=0.5ms per stage and micro-batch");
}

TEST_CASE("a backward is I + W when only those are given") {
  const ScheduleCosts costs = parse_costs({"F=1ms,I=2ms,W=3ms,R=1ms"}, false, 1);
  CHECK(costs.prices.compute_of(0, 0).fused_backward.duration == 5ms);
  CHECK(costs.recompute);
}

TEST_CASE("what an overlap saves is given per stage too") {
  CHECK(parse_costs({"F=1ms,B=2ms,O=300us"}, false, 1).prices.compute_of(0, 0).overlap_gain ==
        300us);
  const ScheduleCosts costs = read_costs(parse_json(R"({"format": "penstock.costs/1", "stages": [
      {"forward_ms": 1, "fused_backward_ms": 2, "overlap_gain_us": 300},
      {"forward_ms": 1, "fused_backward_ms": 2}],
      "boundaries": [{"activation_us": 500, "gradient_us": 600}]})",
                                                    ""),
                                         "", false, 2);
  CHECK(costs.prices.compute_of(0, 0).overlap_gain == 300us);
  CHECK(costs.prices.compute_of(1, 0).overlap_gain == 0us);
}

TEST_CASE("costs that contradict the schedule or each other are refused") {
  CHECK(cost_message("B=2ms", false) == "--cost: F, the time of a forward, is missing");
  CHECK(cost_message("F=1ms", false) == "--cost: the time of a backward is missing");
  CHECK(cost_message("F=1ms,B=2ms,I=1ms", false) ==
        "--cost: B is I + W, so they cannot be given together");
  CHECK(cost_message("F=1ms,I=1ms", false) == "--cost: W, the weight gradient is missing");
  CHECK(cost_message("F=1ms,B=2ms", true) ==
        "--cost: this schedule divides the backward B into I and W");
  CHECK(cost_message("F=1ms,B=2ms,X=1ms", false) == "--cost: unknown key 'X'");
  CHECK(cost_message("F=1ms,F=2ms", false) == "--cost: F is given twice");
  CHECK(cost_message("F=1ms,forward=2ms", false) == "--cost: F is given twice, as F and forward");
  CHECK(cost_message("F=1,B=2ms", false) == "--cost F: '1' has no unit");
  // What a unit does not mend is said first.
  CHECK(cost_message("Q=1,B=2", false) == "--cost: unknown key 'Q'");
  CHECK(cost_message("F=1,forward=2", false) == "--cost: F is given twice, as F and forward");
  for (const bool split : {false, true}) {
    CHECK(cost_message("F=1,B=2,I=1", split) ==
          "--cost: B is I + W, so they cannot be given together");
  }
}

TEST_CASE("a cost file may list micro-batches of different shapes") {
  const std::string shape = R"({"stages": [{"forward_ms": 1, "fused_backward_ms": 2,
      "stash_bytes": 7}, {"forward_ms": 3, "fused_backward_ms": 4}],
      "boundaries": [{"activation_us": 5, "gradient_us": 6}]})";
  const auto file = [&](const std::string& shapes, const std::string& micro_batches) {
    return R"({"format": "penstock.costs/1", "shapes": [)" + shapes + R"(], "micro_batches": [)" +
           micro_batches + "]}";
  };
  const Json json =
      parse_json(file(shape + "," + shape, R"({"shape": 1, "count": 3}, {"shape": 0})"), "");
  const ScheduleCosts costs = read_costs(json, "f.json", false, 2);
  CHECK(micro_batches_in(json, "") == 4);
  CHECK(costs.prices.shapes == 2);
  CHECK(costs.prices.compute_of(1, 1).forward.duration == 3ms);
  CHECK(costs.prices.compute_of(0, 1).stash == Bytes{7});
  CHECK(costs.prices.transfer_of(0, 1).gradient.duration == 6us);
  REQUIRE(costs.micro_batches.size() == 2);
  CHECK(costs.micro_batches[0].count == 3);
  CHECK(costs.micro_batches[0].each.shape == 1);
  CHECK(costs.has_bytes);
  CHECK(costs.words == "from f.json: 4 micro-batches of 2 shapes");

  CHECK(file_message(file(shape, R"({"shape": 1})")) ==
        ":3: /micro_batches/0/shape: expected an integer from 0 to 0, got 1");
  CHECK(file_message(file(shape, "")).find("expected at least one micro-batch") !=
        std::string::npos);
  CHECK(file_message(file("", R"({"shape": 0})")).find("expected at least one shape") !=
        std::string::npos);
  CHECK(file_message(file(shape, R"({"shape": 0, "count": 16777216}, {"shape": 0})"))
            .find("more than 16777216 micro-batches in all") != std::string::npos);
}

// 16 GB/s and 10 us: 479,840,000 bytes take 29.99 ms and the latency.
TEST_CASE("a cost file says what copies of stages in slots take") {
  const std::string text = R"({"format": "penstock.costs/1", "stages": [
      {"forward_ms": 1, "fused_backward_ms": 2}, {"forward_ms": 1, "fused_backward_ms": 2}],
      "boundaries": [{"activation_us": 0, "gradient_us": 0}],
      "weight_slots": {"per_rank": 1, "bandwidth_bytes_per_s": 16e9, "latency_us": 10, "stages": [
        {"load_bytes": 479840000, "store_bytes": 160000, "optimizer_ms": 5},
        {"load_bytes": 0, "store_bytes": 0}]}})";
  const ScheduleCosts costs = read_costs(parse_json(text, ""), "", false, 2);
  CHECK(costs.weight_slots == 1);
  CHECK(costs.prices.step[0].load.duration == 30ms);
  CHECK(costs.prices.step[0].store.duration == 20us);
  CHECK(costs.prices.step[0].loaded == Bytes{479'840'000});
  CHECK(costs.prices.step[0].optimizer.duration == 5ms);
  CHECK(costs.prices.step[1].load.duration == 10us);
  std::string short_of_one = text;
  short_of_one.replace(text.find(R"(,
        {"load_bytes": 0)"),
                       std::string::npos, "]}}");
  CHECK(file_message(short_of_one).find("expected 2 entries, one per stage (P * V), got 1") !=
        std::string::npos);
}

TEST_CASE("a cost file is read strictly") {
  const std::string head = R"({"format": "penstock.costs/1", )";
  const std::string stage = R"({"forward_ms": 1, "fused_backward_ms": 2})";
  const std::string boundary = R"({"activation_us": 500, "gradient_us": 600})";
  const auto file = [&](const std::string& stages, const std::string& boundaries) {
    return file_message(head + R"("stages": [)" + stages + R"(], "boundaries": [)" + boundaries +
                        "]}");
  };
  CHECK(file(stage + "," + stage, boundary).empty());
  CHECK(file(stage, boundary) == ":1: /stages: expected 2 entries, one per stage (P * V), got 1");
  CHECK(file(stage + "," + stage, "") ==
        ":1: /boundaries: expected 1 entries, one per boundary (P * V - 1), got 0");
  CHECK(file(stage + R"(,{"forward_ms": 1})", boundary) ==
        ":1: /stages/1: the time of a backward is missing; add B, or I and W");
  CHECK(file(stage + R"(,{"forward_ms": 1, "fused_backward_ms": 2, "recomput_ms": 1})", boundary)
            .find("unknown key \"recomput_ms\"") != std::string::npos);
  CHECK(file_message(R"({"format": "penstock.plan/1"})")
            .find("expected \"penstock.costs/1\", got \"penstock.plan/1\"") != std::string::npos);
}
