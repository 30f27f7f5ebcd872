#include "cli/io/gpu_report.h"

#include <string>

#include <doctest/doctest.h>

#include "report/screen.h"

namespace penstock {
namespace {

SampleSummary taking(int median) {
  SampleSummary summary;
  summary.minimum = summary.quarter = summary.median = summary.ninetieth = Duration{median};
  summary.count = 7;
  return summary;
}

TagActivity activity(int section, ActivityPhase phase, int busy, int covered, int gaps) {
  TagActivity tag;
  tag.tag = activity_tag(section, phase);
  tag.repeats = 10;
  tag.busy.median = Duration{busy};
  tag.covered.median = Duration{covered};
  tag.span.median = Duration{covered + gaps};
  tag.launch_gaps.median = Duration{gaps};
  tag.kernels = 3;
  tag.memsets = 1;
  return tag;
}

// F of a block: kernels cover 940 of the 1000 ns that events say, less than 95 %. Its backward is
// covered by 1900 of 2000, which is not less.
TraceSamples trace() {
  TraceSamples trace;
  trace.micro_batch_size = 2;
  trace.sequence_length = 64;
  trace.steps = 10;
  trace.types = {activity(1, ActivityPhase::kForward, 950, 940, 50),
                 activity(1, ActivityPhase::kFusedBackward, 2100, 1900, 0),
                 activity(0, ActivityPhase::kGradientNorm, 30, 30, 0)};
  trace.type_names = {"block", "block", ""};
  trace.sections = trace.types;
  trace.confirmed = 40;
  trace.without_external_id = 20;
  trace.untraced_step = taking(8000);
  trace.traced_step = taking(9000);
  return trace;
}

ChainSamples chain() {
  ChainSamples chain;
  chain.norm = taking(31);
  SectionSamples& block = chain.sections.emplace_back();
  block.type = "block";
  block.micro_batch_size = 2;
  block.forward = taking(1000);
  block.fused_backward = taking(2000);
  return chain;
}

TEST_CASE("what the GPU did stands beside the untraced times, and what tracing cost below") {
  CHECK(traces_report({trace()}, {chain()}, Screen{}) ==
        R"(What the GPU did, traced after the times above (untraced: by CUDA events, the price):
section  b  recompute  phase           kernels  copies  memsets    busy  covered  launch gaps  untraced  bound by
block    2  none       forward               3       0        1  950 ns   940 ns        50 ns      1 us  launches
block    2  none       fused backward        3       0        1  2.1 us   1.9 us         0 ns      2 us  the device
all      2  none       gradient norm         3       0        1   30 ns    30 ns         0 ns     31 ns  the device

b = 2, recompute none: a step takes 8 us, and 9 us while it is traced (+12.5 %; medians of 10
steps). No activity is left over: of 60 an external id confirms 40, 20 without one were launched by
another thread.
)");
}

TEST_CASE("a void trace has no rows, only its sentence in the JSON") {
  TraceSamples stray = trace();
  stray.why_void = "5 ns of 1 device activities belong to no scope: stray";
  stray.unattributed = Duration{5};
  stray.sections.clear();
  stray.types.clear();
  CHECK(traces_report({stray}, {}, Screen{}).empty());
  const Json json = traces_json({stray}, {"embedding", "block.0"}).elements().at(0);
  CHECK(json.find("void")->text() == stray.why_void);
  CHECK(json.find("unattributed_ns")->text() == "5");
  CHECK(json.find("activity")->elements().empty());
}

TEST_CASE("the JSON has a row per section and phase, and what tracing cost") {
  const Json json = traces_json({trace()}, {"embedding", "block.0"}).elements().at(0);
  CHECK(json.find("void") == nullptr);
  CHECK(json.find("untraced_step_ns")->text() == "8000");
  CHECK(json.find("traced_step_ns")->text() == "9000");
  CHECK(json.find("tracing_overhead")->text() == "0.125");
  const std::vector<Json>& rows = json.find("activity")->elements();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].find("section")->text() == "block.0");
  CHECK(rows[0].find("phase")->text() == "forward");
  CHECK(rows[0].find("launch_gaps")->find("median_ns")->text() == "50");
  CHECK(rows[2].find("section") == nullptr);  // of all of them
}

CopySample copy(CopyWay way, HostMemory memory, bool under_load, std::int64_t bytes, int median) {
  CopySample sample;
  sample.way = way;
  sample.memory = memory;
  sample.under_load = under_load;
  sample.bytes = {bytes};
  sample.time = taking(median);
  return sample;
}

// 1024 bytes take 1024 ns, 4096 take 2048: 3072 more bytes take 1024 ns more, so 3 GB/s; of the
// first 1024 ns 1024 / 3 are for the bytes, which leaves 682.67 for the start.
TEST_CASE("copies have a bandwidth per size, and a line that tells the start from the rest") {
  const std::string text =
      copies_report({copy(CopyWay::kToDevice, HostMemory::kPinned, false, 1024, 1024),
                     copy(CopyWay::kToDevice, HostMemory::kPinned, false, 4096, 2048),
                     copy(CopyWay::kOnDevice, HostMemory::kPinned, true, 1024, 512)},
                    Screen{});
  INFO(text);
  CHECK(text.find("1.0 KiB  1.00 GB/s") != std::string::npos);
  CHECK(text.find("4.0 KiB  2.00 GB/s") != std::string::npos);
  CHECK(text.find("to device: 683 ns + bytes / 3.00 GB/s; off by up to 0.0 %") !=
        std::string::npos);
  CHECK(text.find("While memsets use the device's memory:") != std::string::npos);
  CHECK(copies_report({}, Screen{}).empty());
}

TEST_CASE("the raw table of copies keeps every sample") {
  const Json json = copies_json({copy(CopyWay::kToHost, HostMemory::kPageable, true, 2048, 700)});
  REQUIRE(json.elements().size() == 1);
  const Json& sample = json.elements()[0];
  CHECK(sample.find("way")->text() == "to_host");
  CHECK(sample.find("memory")->text() == "pageable");
  CHECK(sample.find("under_load")->boolean());
  CHECK(sample.find("bytes")->text() == "2048");
  CHECK(sample.find("median_ns")->text() == "700");
}

}  // namespace
}  // namespace penstock
