#include "report/result_json.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

TEST_CASE("a plan is written with the words of its file") {
  const Json json = to_json(tests::plan());
  CHECK(json.find("schedule")->text() == "1f1b");
  CHECK(json.find("micro_batches")->text() == "4");
  CHECK(json.find("devices")->text() == "6");
  CHECK(json.find("stage_map")->text() == "loop");
  CHECK(json.find("placement")->text() == "pipeline_inner");
  CHECK(to_text(*json.find("cuts")) == "[0, 2, 3]");
}

TEST_CASE("times are nanoseconds, memory is bytes, and the sums are there") {
  const Json json = to_json(tests::evaluation(), tests::plan());
  CHECK(json.find("step_time_ns")->text() == "100000000");
  CHECK(json.find("bubble_rate_makespan")->text() == "0.1");
  CHECK(json.find("peak_memory_bytes")->text() == "32212254720");
  CHECK(json.find("tokens_per_s") == nullptr);
  CHECK(json.find("cost_usd_per_step") == nullptr);
  const Json& rank = json.find("ranks")->elements().at(1);
  CHECK(rank.find("time")->find("warm_up_ns")->text() == "10000000");
  CHECK(rank.find("memory")->find("total_bytes")->text() == "21474836480");
}

TEST_CASE("a search result keeps its order of keys, and no nearest miss is null") {
  SearchResult result;
  result.candidates = 5;
  result.rejected = {{"over memory", 5, Bytes{1}, Bytes{2}, "fewer"}};
  Json json = Json::object();
  set_search_result(json, result);
  CHECK(to_text(json) ==
        "{\n"
        "  \"complete\": true,\n"
        "  \"candidates\": 5,\n"
        "  \"evaluated\": 0,\n"
        "  \"bounded\": 0,\n"
        "  \"best\": null,\n"
        "  \"plans\": [],\n"
        "  \"pareto\": [],\n"
        "  \"rejected\": [\n"
        "    {\n"
        "      \"reason\": \"over memory\",\n"
        "      \"candidates\": 5,\n"
        "      \"least_over_bytes\": 1,\n"
        "      \"most_over_bytes\": 2,\n"
        "      \"remedy\": \"fewer\"\n"
        "    }\n"
        "  ],\n"
        "  \"nearest_miss\": null,\n"
        "  \"not_searched\": []\n"
        "}");
}

TEST_CASE("findings name their place") {
  CheckReport report;
  report.findings = {{"rank 2", "too much"}};
  report.replayed = Duration(7);
  report.memory = {Bytes{3}};
  CHECK(to_text(to_json(report)) ==
        "{\n"
        "  \"findings\": [{\"place\": \"rank 2\", \"message\": \"too much\"}],\n"
        "  \"replayed_step_time_ns\": 7,\n"
        "  \"memory_bytes\": [3]\n"
        "}");
}
