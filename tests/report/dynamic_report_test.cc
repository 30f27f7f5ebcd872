#include "report/dynamic_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

using std::chrono::milliseconds;

// Steps of so many milliseconds with 1,000 real tokens each.
DynamicMethod method(const std::string& name, const std::vector<int>& steps, std::int64_t padded) {
  DynamicMethod result;
  result.name = name;
  result.layout = "TP 1 x PP 4 x DP 2";
  for (const int step : steps) {
    DynamicStep& one = result.steps.emplace_back();
    one.step = one.makespan = milliseconds(step);
    one.real_tokens = 1000;
    one.padded_tokens = padded;
    one.replicas = {{{{4, 100, 0}, {0, 1, 2, 3}, 380, 0.4}, {{2, 320, 0}, {4, 5}, 620, 0.6}}};
  }
  return result;
}

DynamicReport report_of(std::vector<DynamicMethod> methods) {
  DynamicReport report;
  report.question = "model on cluster: 8 GPUs";
  report.lengths = "lengths.csv: 6 samples";
  report.tokens_per_batch = 1000;
  report.methods = std::move(methods);
  report.batches.resize(report.methods.front().steps.size(), {{99, 0}, {320, 0}});
  return report;
}

TEST_CASE("the speed-up is that of all batches, with the range of nine of ten") {
  // 20 batches: ratios 1.0, 1.1, .., 2.9. One at either end is left out.
  std::vector<int> ours(20, 100), theirs;
  for (int i = 0; i < 20; ++i) theirs.push_back(100 + 10 * i);
  const SpeedUp speed = speed_up(method("dynamic", ours, 1000), method("packing", theirs, 2000));
  CHECK(speed.of_all == doctest::Approx(1.95));  // (100 + 290) / 2 over 100
  CHECK(speed.low == doctest::Approx(1.1));
  CHECK(speed.high == doctest::Approx(2.8));
}

TEST_CASE("tokens per second count real tokens of all steps") {
  const DynamicMethod two = method("dynamic", {100, 300}, 1250);
  CHECK(two.tokens_per_s() == doctest::Approx(5000.0));  // 2,000 tokens in 0.4 s
  CHECK(two.real_tokens() == 2000);
  CHECK(two.padded_tokens() == 2500);
}

TEST_CASE("as many planner threads hide planning as it takes steps") {
  DynamicMethod timed = method("dynamic", {100, 100, 100}, 1000);
  CHECK_FALSE(planning_time(timed));
  for (std::size_t i = 0; i < 3; ++i) {
    timed.steps[i].planning = milliseconds(50 + 100 * static_cast<int>(i));  // 50, 150, 250
  }
  const auto planning = planning_time(timed);
  REQUIRE(planning);
  CHECK(planning->median == milliseconds(150));
  CHECK(planning->threads == 2);  // 150 ms of planning for every 100 ms of training
}

TEST_CASE("lengths are counted two bins an octave") {
  // Bounds 1, 2, 3, 4, 6, 8, 12.
  const std::vector<LengthBin> bins = histogram_of({{3, 0}, {4, 0}, {5, 11}, {6, 0}, {7, 0}});
  CHECK(bins == std::vector<LengthBin>{{3, 4, 1, 0}, {4, 6, 2, 0}, {6, 8, 2, 0}, {8, 12, 0, 1}});
  std::int64_t sum = 0;
  std::vector<SampleLength> all;
  for (int length = 1; length <= 300; ++length) all.push_back({length, 0});
  int from = 1;
  for (const LengthBin& bin : histogram_of(all)) {
    CHECK(bin.from == from);
    CHECK(bin.samples == std::min(bin.to, 301) - bin.from);
    from = bin.to;
    sum += bin.samples;
  }
  CHECK(sum == 300);
}

TEST_CASE("the answer names the fastest other method, and keeps to twenty lines of the width") {
  DynamicReport report =
      report_of({method("dynamic", {100, 100}, 1010), method("token budget", {130, 130}, 1300),
                 method("packing", {120, 140}, 1050)});
  report.methods[1].setting = "512 tokens";
  report.errors = {{"length", 10, 0.05, 0.2, 0.01, 0.02}};
  const std::string text = dynamic_text(report, Screen{});
  CHECK(text.find("10,000 tokens/s with TP 1 x PP 4 x DP 2: 1.30 times as fast as token budget") !=
        std::string::npos);
  CHECK(text.find("99.0 %") != std::string::npos);
  CHECK(text.find("mean error along the length 5.0 % (bytes 1.0 %)") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 20);
  for (const std::size_t columns : {60U, 80U}) {
    const std::string narrow = dynamic_text(report, Screen{columns});
    for (std::size_t begin = 0; begin < narrow.size();) {
      const std::size_t end = narrow.find('\n', begin);
      CHECK(end - begin <= columns);
      begin = end + 1;
    }
  }
}

TEST_CASE("a method that does not fit says why, and is compared with nothing") {
  DynamicReport report = report_of({method("dynamic", {100}, 1000), {}});
  report.methods[1].name = "packing";
  report.methods[1].why_not = "rank 0 is over its memory";
  CHECK(dynamic_text(report, Screen{}).find("nothing fits") != std::string::npos);
  const Json json = dynamic_json(report);
  const Json& packing = json.find("methods")->elements()[1];
  CHECK_FALSE(packing.find("fits")->boolean());
  CHECK(packing.find("why_not")->text() == "rank 0 is over its memory");
  CHECK(packing.find("speed_up_of_dynamic") == nullptr);
  std::swap(report.methods[0], report.methods[1]);
  CHECK(dynamic_text(report, Screen{}).find("Nothing fits: rank 0 is over") != std::string::npos);
}

TEST_CASE("statistics hold every micro-batch of every batch") {
  const Json json = dynamic_statistics(report_of({method("dynamic", {100, 200}, 1040)}));
  const auto& iterations = json.find("iterations")->elements();
  REQUIRE(iterations.size() == 2);
  CHECK(iterations[1].find("step_time_ns")->text() == "200000000");
  CHECK(iterations[1].find("lengths")->elements()[1].text() == "320");
  const Json& second = iterations[0].find("replicas")->elements()[0].elements()[1];
  CHECK(second.find("samples")->text() == "2");
  CHECK(second.find("tokens")->text() == "320");
  CHECK(second.find("sample_ids")->elements()[0].text() == "4");
  CHECK(second.find("loss_weight")->text() == "0.6");
  CHECK(json.find("totals")->find("real_tokens")->text() == "2000");
}

}  // namespace
}  // namespace penstock
