#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/values/runs.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

// The messages below name lines and paths of this file.
constexpr std::string_view kRuns = R"({
  "format": "penstock.runs/1",
  "name": "two runs",
  "sources": [{"id": "lab", "origin": "measured", "text": "here"}, {"id": "log", "origin": "measured", "text": "there"}],
  "profile": "model.json",
  "cluster": "../cluster.json",
  "runs": [
    {"name": "one",
     "plan": {"schedule": "1f1b", "group": 0, "pipeline": 2, "chunks": 1, "stage_map": "loop",
              "data": 1, "tensor": 4, "micro_batch_size": 8, "global_batch": 32,
              "sequence_length": 2048, "recompute": "none", "zero1": false,
              "placement": "pipeline_inner", "device": "gpu", "cuts": [0, 12, 26]},
     "step_time_s": 0.65705, "step_spread_ms": 3, "count": 20, "reduce_gradients_ms": 4.14,
     "peak_memory_bytes": 26942111744, "source": "log"},
    {"name": "two",
     "plan": {"schedule": "gpipe", "group": 0, "pipeline": 1, "chunks": 1, "stage_map": "loop",
              "data": 2, "tensor": 1, "micro_batch_size": 1, "global_batch": 2,
              "sequence_length": 0, "recompute": "full", "zero1": true,
              "placement": "data_inner", "device": "gpu", "cuts": [0, 3]},
     "step_time_ns": 7}
  ]
}
)";

MeasuredRuns read(std::string_view text) { return read_runs(parse_json(text, "r.json"), "r.json"); }

// The complaint about kRuns after the first `from` became `to`.
std::string complaint(std::string_view from, std::string_view to) {
  std::string text(kRuns);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return tests::refusal_of([&] { (void)read(text); });
}

TEST_CASE("runs are read into exact values") {
  const MeasuredRuns runs = read(kRuns);
  CHECK(runs.name == "two runs");
  CHECK(runs.profile == "model.json");
  CHECK(runs.cluster == "../cluster.json");
  REQUIRE(runs.runs.size() == 2);
  const MeasuredRun& one = runs.runs[0];
  CHECK(one.name == "one");
  CHECK(one.plan.pipeline == 2);
  CHECK(one.plan.tensor == 4);
  CHECK(one.plan.cuts == std::vector<int>{0, 12, 26});
  CHECK(one.step_time == Duration{657'050'000});
  CHECK(one.step_spread == Duration{3'000'000});
  CHECK(one.count == 20);
  CHECK(one.reduce_gradients == Duration{4'140'000});
  CHECK(one.peak_memory == Bytes{26'942'111'744});
  CHECK(one.source == 1);
  const MeasuredRun& two = runs.runs[1];
  CHECK(two.plan.schedule == "gpipe");
  CHECK(two.plan.zero1);
  CHECK(two.step_time == Duration{7});
  CHECK(two.count == 1);
  CHECK_FALSE(two.reduce_gradients);
  CHECK_FALSE(two.peak_memory);
  CHECK(two.source == 0);
}

TEST_CASE("what is wrong with a run is said with its place") {
  CHECK(complaint("\"two\",", "\"one\",") ==
        "r.json:15: /runs/1/name: there are two runs with the name \"one\"; rename one");
  CHECK(complaint("\"step_time_ns\": 7", "\"step_time_ns\": 0") ==
        "r.json:15: /runs/1: expected a step time > 0, got 0");
  CHECK(complaint("\"reduce_gradients_ms\": 4.14", "\"reduce_gradients_ms\": 0") ==
        "r.json:8: /runs/0: expected a reduction time > 0, got 0");
  CHECK(complaint("\"count\": 20", "\"count\": 0").starts_with("r.json:13: /runs/0/count: "));
  CHECK(complaint("\"source\": \"log\"", "\"source\": \"lag\"")
            .starts_with("r.json:14: /runs/0/source: there is no source \"lag\""));
  CHECK(complaint("[0, 12, 26]", "[0, 26]").starts_with("r.json:12: /runs/0/plan/cuts: "));
  CHECK(complaint("\"step_time_s\"", "\"step_tme_s\"") != "");
  CHECK(complaint("penstock.runs/1", "penstock.runs/2")
            .starts_with("r.json:2: /format: expected \"penstock.runs/1\""));
}

TEST_CASE("all runs are on one device type") {
  CHECK(complaint("\"device\": \"gpu\"", "\"device\": \"cpu\"") ==
        "r.json:15: /runs/1: expected the device of the first run, \"cpu\", got \"gpu\"; make one "
        "file per device type");
}

TEST_CASE("runs are written as they are read") {
  const MeasuredRuns runs = read(kRuns);
  CHECK(read(to_text(write_runs(runs))) == runs);
}

}  // namespace
}  // namespace penstock
