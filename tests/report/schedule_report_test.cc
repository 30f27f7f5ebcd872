#include "report/schedule_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "simulator/lower.h"

using namespace penstock;

namespace {

ComputeAction action(ActionKind kind, int stage, int micro_batch) {
  return {kind, false, StageId{static_cast<std::uint16_t>(stage)},
          MicroBatchId{static_cast<std::uint32_t>(micro_batch)}};
}

// GPipe on two ranks, one micro-batch; the second rank splits its backward.
Schedule schedule() {
  return schedule_of_lists(
      "mine", 1, {0, 1},
      {{action(ActionKind::kForward, 0, 0), action(ActionKind::kFusedBackward, 0, 0)},
       {action(ActionKind::kForward, 1, 0), action(ActionKind::kInputGradient, 1, 0),
        action(ActionKind::kWeightGradient, 1, 0)}});
}

ScheduleResult result() {
  ScheduleResult result;
  result.schedule = "interleaved";
  result.ranks = 2;
  result.chunks = 2;
  result.micro_batches = 4;
  result.makespan = Duration(27'000'000);
  result.longest_span = Duration(26'000'000);
  result.ideal = Duration(24'000'000);
  result.peak_stash_chunks = {5, 4};
  result.actions = 80;
  result.costs = "F=1ms,B=2ms per stage and micro-batch";
  result.executor = "ideal";
  return result;
}

}  // namespace

TEST_CASE("the lists for people") {
  CHECK(action_lists(schedule()) == "rank 0 0F0 0B0\nrank 1 1F0 1I0 1W0\n");
}

TEST_CASE("the lists of a Program are its compute actions, in its order") {
  PipelineInput input{schedule(), {MicroBatch{}}, 1};
  CHECK(action_lists(lower({input}, {})) == "rank 0 0F0 0B0\nrank 1 1F0 1I0 1W0\n");
}

TEST_CASE("an overlap is a pair in parentheses") {
  Schedule overlapped = schedule();
  overlapped.actions[0].overlaps_next = true;
  CHECK(action_lists(overlapped) == "rank 0 (0F0;0B0)\nrank 1 1F0 1I0 1W0\n");
}

TEST_CASE("the report names both bubbles and counts stashes in whole ranks") {
  CHECK(schedule_report(result(), Screen{}) ==
        "interleaved: PP = 2, VP = 2, M = 4\n"
        "costs: F=1ms,B=2ms per stage and micro-batch\n"
        "executor: ideal\n"
        "\n"
        "step (makespan)         27 ms (27,000,000 ns)\n"
        "longest span of a rank  26 ms (26,000,000 ns)\n"
        "busiest rank's work     24 ms (24,000,000 ns)\n"
        "bubble by makespan      11.1 %   (makespan - busiest rank's work) / makespan\n"
        "bubble by longest span  7.7 %   (longest span - busiest rank's work) / longest span\n"
        "activations by rank     2.5 2   at their peak, in micro-batches of a whole rank\n"
        "actions                 80   sends and receives included\n");
}

// A stage of either copy is a whole P-th of the model; of q slices each is a q-th of a micro-batch.
TEST_CASE("stashes are in whole ranks with two copies of the weights and with slices too") {
  ScheduleResult both_ways = result();
  both_ways.copies = 2;
  CHECK(schedule_report(both_ways, Screen{})
            .find("interleaved: PP = 2, VP = 2, M = 4, 2 copies of the weights\n") == 0);
  CHECK(to_text(*schedule_json(both_ways).find("peak_stash_micro_batches")) == "[5, 4]");
  CHECK(schedule_json(both_ways).find("copies")->text() == "2");
  ScheduleResult sliced = result();
  sliced.slices = 4;
  CHECK(schedule_report(sliced, Screen{})
            .find("interleaved: PP = 2, VP = 2, M = 4 in 4 slices each\n") == 0);
  CHECK(to_text(*schedule_json(sliced).find("peak_stash_micro_batches")) == "[0.625, 0.5]");
  CHECK(schedule_json(sliced).find("slices")->text() == "4");
}

TEST_CASE("the JSON has the keys that others rely on") {
  const Json json = schedule_json(result());
  CHECK(json.members().front().first == "schema_version");
  CHECK(json.find("schedule")->text() == "interleaved");
  CHECK(json.find("pipeline")->text() == "2");
  CHECK(json.find("chunks")->text() == "2");
  CHECK(json.find("micro_batches")->text() == "4");
  CHECK(json.find("makespan_ns")->text() == "27000000");
  CHECK(json.find("longest_span_ns")->text() == "26000000");
  CHECK(json.find("ideal_ns")->text() == "24000000");
  CHECK(json.find("bubble_rate_makespan")->text() == "0.1111111111111111");
  CHECK(json.find("bubble_rate_longest_span")->text() == "0.07692307692307693");
  CHECK(to_text(*json.find("peak_stash_micro_batches")) == "[2.5, 2]");
  CHECK(to_text(*json.find("peak_stash_chunks")) == "[5, 4]");
  CHECK(json.find("actions")->text() == "80");
}

TEST_CASE("of many ranks' stashes the first and the last are printed") {
  ScheduleResult many = result();
  many.chunks = 1;
  many.peak_stash_chunks.clear();
  for (int r = 0; r < 20; ++r) many.peak_stash_chunks.push_back(20 - r);
  CHECK(schedule_report(many, Screen{}).find("20 19 18 17 16 15 14 13 12 11 10 ... 1   at") !=
        std::string::npos);
}
