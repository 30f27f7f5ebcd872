#include "cli/io/profile_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

SampleSummary taking(Duration median, double error = 0.001) {
  return {.minimum = median,
          .quarter = median,
          .median = median,
          .ninetieth = median,
          .error = error,
          .count = 9};
}
SampleSummary between(Duration quarter, Duration median) {
  SampleSummary summary = taking(median);
  summary.quarter = quarter;
  return summary;
}

// A message of 1,000 B alone takes 11 us, one of 1 MB 1,010 us: 10 us and 1 GB/s. One way 1,000 B
// in 2 us are 0.5 GB/s, 1 MB in 500 us 2 GB/s; both ways 1 MB in 1 ms is 1 GB/s.
//
// All-reduces of 1 MB: 2 ranks in 1 ms carry 1 GB/s * 2 (2 - 1) / 2 = 1 GB/s; 4 ranks in 2 ms
// 0.5 GB/s * 2 * 3 / 4 = 0.75 GB/s; the all-gather of 4 ranks in 1 ms 1 GB/s * 3 / 4.
LinkSamples measured_links() {
  const Bytes small{1'000}, large{1'000'000};
  LinkSamples samples;
  samples.links = {{LinkPattern::kAlone, false, small, between(11us, 12us)},
                   {LinkPattern::kAlone, false, large, between(1010us, 1100us)},
                   {LinkPattern::kOneWay, false, small, taking(2us)},
                   {LinkPattern::kOneWay, false, large, taking(500us)},
                   {LinkPattern::kBothWays, false, large, taking(1ms)}};
  samples.collectives = {{CollectiveKind::kAllGather, 4, false, large, between(950us, 1ms)},
                         {CollectiveKind::kAllReduce, 4, false, large, between(1900us, 2ms)},
                         {CollectiveKind::kAllReduce, 2, false, large, between(900us, 1ms)}};
  return samples;
}

constexpr const char* kIdle = R"(Transfers between ranks 0 and 1:
    bytes  alone, fastest quarter  median     one way  both ways
   1000 B                   11 us   12 us  0.500 GB/s          -
976.6 KiB                 1.01 ms  1.1 ms   2.00 GB/s  1.00 GB/s
One line through the fastest quarter: 10 us + bytes / 1.00 GB/s; off by up to 0.0 %, so prices are
made from the table.

collective  ranks      bytes  fastest quarter  median  bus bandwidth
all_reduce      2  976.6 KiB           900 us    1 ms      1.00 GB/s
all_reduce      4  976.6 KiB           1.9 ms    2 ms     0.750 GB/s
all_gather      4  976.6 KiB           950 us    1 ms     0.750 GB/s
)";

}  // namespace

TEST_CASE("what was not measured of a section is a dash, and the worst median is said") {
  SectionSamples block;
  block.type = "block";
  block.micro_batch_size = 2;
  block.recompute = "full";
  block.forward = taking(1500ns, 0.004);
  block.fused_backward = taking(3us, 0.02);
  block.recompute_time = taking(1250ns);
  block.memory = {
      .stash = {2048}, .weight_stash = {512}, .working_peak = {1536}, .boundary = {1024}};
  SectionSamples head;
  head.type = "head";
  head.micro_batch_size = 2;
  head.forward = taking(500ns);
  head.input_gradient = taking(400ns);
  head.weight_gradient = taking(300ns);
  head.fused_backward = taking(700ns);
  head.memory = {.stash = {100}, .weight_stash = {50}, .working_peak = {70}, .boundary = {0}};
  ChainSamples with_recompute, without;
  with_recompute.sections = {block};
  without.sections = {head};
  CHECK(
      sections_report({with_recompute, without}, Screen{}) ==
      R"(section  b  recompute       F       I       W       B        R  known to    stash  W stash  working  boundary
block    2  full       1.5 us       -       -    3 us  1.25 us     2.0 %  2.0 KiB    512 B  1.5 KiB   1.0 KiB
head     2  none       500 ns  400 ns  300 ns  700 ns        -     0.1 %    100 B     50 B     70 B       0 B
)");
}

TEST_CASE("links are a table per size, a line, and collectives by kind and ranks") {
  CHECK(links_report(measured_links(), Screen{}) == kIdle);
}

// One size makes no line.
TEST_CASE("what was measured under load stands behind what was measured idle") {
  LinkSamples samples = measured_links();
  samples.links.push_back({LinkPattern::kAlone, true, {1'000}, between(30us, 40us)});
  samples.collectives.push_back(
      {CollectiveKind::kReduceScatter, 2, true, {1'000}, between(20us, 50us)});
  // 1,000 B in 50 us are 0.02 GB/s, of which half.
  CHECK(links_report(samples, Screen{}) == std::string(kIdle) + R"(
While all ranks compute:
 bytes  alone, fastest quarter  median  one way  both ways
1000 B                   30 us   40 us        -          -

collective      ranks   bytes  fastest quarter  median  bus bandwidth
reduce_scatter      2  1000 B            20 us   50 us    0.0100 GB/s
)");
}

TEST_CASE("the raw table has every sample in the order it was taken") {
  LinkSamples samples = measured_links();
  samples.complete = false;
  const Json json = links_json(samples);
  CHECK(to_text(*json.find("complete")) == "false");
  REQUIRE(json.find("transfers")->elements().size() == 5);
  const Json& small = json.find("transfers")->elements()[0];
  CHECK(small.find("pattern")->text() == "alone");
  CHECK(small.find("bytes")->text() == "1000");
  CHECK(small.find("count")->text() == "9");
  CHECK(small.find("minimum_ns")->text() == "12000");
  CHECK(small.find("quarter_ns")->text() == "11000");
  CHECK(small.find("median_ns")->text() == "12000");
  CHECK(small.find("ninetieth_ns")->text() == "12000");
  CHECK(json.find("transfers")->elements()[4].find("pattern")->text() == "both_ways");
  REQUIRE(json.find("collectives")->elements().size() == 3);
  const Json& gather = json.find("collectives")->elements()[0];
  CHECK(gather.find("kind")->text() == "all_gather");
  CHECK(gather.find("participants")->text() == "4");
  CHECK(gather.find("bus_bandwidth_bytes_per_s")->text() == "7.5e+08");
}
