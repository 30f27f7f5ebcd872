#include "profiler/activity.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr ActivityTag kForward0 = activity_tag(0, ActivityPhase::kForward);
constexpr ActivityTag kBackward0 = activity_tag(0, ActivityPhase::kInputGradient);

Duration ns(int count) { return Duration{count}; }

ActivityRecord launch(std::uint32_t correlation, int start, int end, std::uint64_t thread = 1) {
  ActivityRecord record;
  record.kind = ActivityKind::kRuntime;
  record.start = ns(start);
  record.end = ns(end);
  record.correlation = correlation;
  record.thread = thread;
  return record;
}

ActivityRecord on_device(ActivityKind kind, std::uint32_t correlation, int start, int end,
                         const std::string& name = "", std::int64_t bytes = 0) {
  ActivityRecord record;
  record.kind = kind;
  record.start = ns(start);
  record.end = ns(end);
  record.correlation = correlation;
  record.stream = 7;
  record.name = name;
  record.bytes = {bytes};
  return record;
}

ActivityRecord kernel(std::uint32_t correlation, int start, int end,
                      const std::string& name = "gemm") {
  return on_device(ActivityKind::kKernel, correlation, start, end, name);
}

ActivityRecord external(std::uint32_t correlation, ActivityTag tag) {
  ActivityRecord record;
  record.kind = ActivityKind::kExternalCorrelation;
  record.correlation = correlation;
  record.external_id = tag.value;
  return record;
}

// host    |0   F0   100| |100      I0      200|
//          l1  l2          l3
// device        k1 [50,80)  k2 [90,150)  k3 [160,200)
//
// F0: busy 30 + 60 = 90, span 50..150 = 100, gap 10. I0: one kernel of 40.
ActivityRecording nominal() {
  ActivityRecording recording;
  recording.scopes = {{kForward0, ns(0), ns(100), 1}, {kBackward0, ns(100), ns(200), 1}};
  recording.records = {launch(1, 10, 20),      launch(2, 30, 40),      launch(3, 110, 120),
                       external(1, kForward0), external(2, kForward0), external(3, kBackward0),
                       kernel(1, 50, 80),      kernel(2, 90, 150),     kernel(3, 160, 200)};
  return recording;
}

TEST_CASE("a kernel belongs to the scope in which it was launched, though it runs later") {
  const ActivityRecording recording = nominal();
  const Attribution found = attribute(recording);
  REQUIRE(found.scopes.size() == 2);
  CHECK(found.scopes[0] == ScopeActivity{ns(90), ns(90), ns(100), ns(10), 2, 0, 0, {}, {}});
  CHECK(found.scopes[1] == ScopeActivity{ns(40), ns(40), ns(40), ns(0), 1, 0, 0, {}, {}});
  CHECK(found.confirmed == 3);
  CHECK(found.without_external_id == 0);
  CHECK(found.unattributed_time == ns(0));
  CHECK_FALSE(why_void(recording, found));
}

TEST_CASE("backward launched by another thread is found by the time of its launch") {
  // LibTorch's engine thread has pushed no external id.
  ActivityRecording recording = nominal();
  recording.records[2].thread = 99;
  std::erase_if(recording.records, [](const ActivityRecord& record) {
    return record.kind == ActivityKind::kExternalCorrelation && record.correlation == 3;
  });
  const Attribution found = attribute(recording);
  CHECK(found.scopes[1].kernels == 1);
  CHECK(found.confirmed == 2);
  CHECK(found.without_external_id == 1);
  CHECK_FALSE(why_void(recording, found));
}

TEST_CASE("overlapping streams count twice in busy and once in the union") {
  // stream 7 [0, 60), stream 8 [40, 100): busy 60 + 60, union and span 100, no gap.
  ActivityRecording recording;
  recording.scopes = {{kForward0, ns(0), ns(30), 1}};
  recording.records = {launch(1, 1, 2), launch(2, 3, 4), kernel(1, 100, 160), kernel(2, 140, 200)};
  recording.records[3].stream = 8;
  const Attribution found = attribute(recording);
  CHECK(found.scopes[0] == ScopeActivity{ns(120), ns(100), ns(100), ns(0), 2, 0, 0, {}, {}});
}

TEST_CASE("a kernel inside another one adds nothing to the union") {
  ActivityRecording recording;
  recording.scopes = {{kForward0, ns(0), ns(30), 1}};
  recording.records = {launch(1, 1, 2),     launch(2, 3, 4),     launch(3, 5, 6),
                       kernel(1, 100, 200), kernel(2, 120, 130), kernel(3, 210, 220)};
  // [100, 200) and [210, 220): union 110, span 120.
  const Attribution found = attribute(recording);
  CHECK(found.scopes[0] == ScopeActivity{ns(120), ns(110), ns(120), ns(10), 3, 0, 0, {}, {}});
}

TEST_CASE("the order of buffers does not matter") {
  ActivityRecording backwards = nominal();
  const Attribution expected = attribute(backwards);
  std::ranges::reverse(backwards.records);
  CHECK(attribute(backwards) == expected);
}

TEST_CASE("a launch outside all scopes voids the sample and is named") {
  ActivityRecording recording = nominal();
  recording.records.push_back(launch(4, 300, 310));
  recording.records.push_back(kernel(4, 320, 325, "stray_kernel"));
  const Attribution found = attribute(recording);
  REQUIRE(found.unattributed.size() == 1);
  CHECK(found.unattributed[0].reason == UnattributedReason::kOutsideScopes);
  CHECK(found.unattributed_time == ns(5));
  CHECK(why_void(recording, found) ==
        "5 ns of 1 device activities belong to no scope: stray_kernel (launched outside all "
        "scopes)");
  CHECK(found.scopes[0].kernels == 2);
}

TEST_CASE("a launch across the end of a scope is outside of it") {
  ActivityRecording recording = nominal();
  recording.records.push_back(launch(4, 195, 205));
  recording.records.push_back(kernel(4, 320, 325));
  CHECK(attribute(recording).unattributed.size() == 1);
}

TEST_CASE("a kernel without a launch, and one without times, are unattributed") {
  ActivityRecording recording = nominal();
  recording.records.push_back(kernel(77, 320, 325, "orphan"));
  recording.records.push_back(launch(5, 50, 51));
  recording.records.push_back(kernel(5, 0, 0, "untimed"));
  const Attribution found = attribute(recording);
  REQUIRE(found.unattributed.size() == 2);
  CHECK(found.unattributed[0].reason == UnattributedReason::kNoLaunch);
  CHECK(found.unattributed[1].reason == UnattributedReason::kNoTimes);
}

TEST_CASE("an external id that contradicts the launch time voids the sample") {
  ActivityRecording recording = nominal();
  recording.records[3].external_id = kBackward0.value;
  const Attribution found = attribute(recording);
  REQUIRE(found.unattributed.size() == 1);
  CHECK(found.unattributed[0].reason == UnattributedReason::kOtherExternalId);
  CHECK(why_void(recording, found)->find("names another scope") != std::string::npos);
}

TEST_CASE("dropped records void the sample") {
  ActivityRecording recording = nominal();
  recording.dropped = 3;
  CHECK(why_void(recording, attribute(recording)) ==
        "the tracer dropped 3 records, so kernels are missing; trace fewer repeats at a time");
}

TEST_CASE("an empty recording has nothing and is not void") {
  const ActivityRecording recording;
  const Attribution found = attribute(recording);
  CHECK(found == Attribution{});
  CHECK_FALSE(why_void(recording, found));
  CHECK(by_tag(recording, found).empty());
}

TEST_CASE("copies and memsets count their bytes apart") {
  ActivityRecording recording;
  recording.scopes = {{kForward0, ns(0), ns(50), 1}};
  recording.records = {launch(1, 1, 2),
                       launch(2, 3, 4),
                       launch(3, 5, 6),
                       on_device(ActivityKind::kMemcpy, 1, 60, 70, "", 4096),
                       on_device(ActivityKind::kMemset, 2, 70, 72, "", 100),
                       on_device(ActivityKind::kMemcpy, 3, 80, 90, "", 4)};
  const Attribution found = attribute(recording);
  CHECK(found.scopes[0] ==
        ScopeActivity{ns(22), ns(22), ns(30), ns(8), 0, 2, 1, Bytes{4100}, Bytes{100}});
}

TEST_CASE("a driver call inside the runtime call of the same id does not narrow the launch") {
  // The runtime call reaches out of the scope; the driver call inside it does not.
  ActivityRecording recording;
  recording.scopes = {{kForward0, ns(10), ns(50), 1}};
  recording.records = {launch(1, 5, 30), launch(1, 12, 20), kernel(1, 60, 70)};
  recording.records[1].kind = ActivityKind::kDriver;
  CHECK(attribute(recording).unattributed.size() == 1);
}

TEST_CASE("host calls that launched nothing can be dropped without a change") {
  ActivityRecording recording = nominal();
  const Attribution before = attribute(recording);
  const std::size_t count = recording.records.size();
  recording.records.push_back(launch(40, 12, 13));
  recording.records.push_back(external(40, kForward0));
  drop_calls_without_activity(recording);
  CHECK(recording.records.size() == count);
  CHECK(attribute(recording) == before);
}

TEST_CASE("overhead of the tracer is summed apart") {
  ActivityRecording recording = nominal();
  recording.records.push_back(on_device(ActivityKind::kOverhead, 0, 5, 12));
  CHECK(attribute(recording).tracer_overhead == ns(7));
}

TEST_CASE("scopes that overlap are refused") {
  ActivityRecording recording = nominal();
  recording.scopes[1].begin = ns(99);
  CHECK_THROWS_AS(attribute(recording), Error);
}

TEST_CASE("a tag's repeats reduce to median and deviation") {
  // Spans 10, 12, 20, 14: median of 10 12 14 20 is 13; deviations 3 1 1 7, median 2.
  ActivityRecording recording;
  const int spans[] = {10, 12, 20, 14};
  for (int i = 0; i < 4; ++i) {
    recording.scopes.push_back({kForward0, ns(100 * i), ns(100 * i + 50), 1});
    const auto id = static_cast<std::uint32_t>(i + 1);
    recording.records.push_back(launch(id, 100 * i + 1, 100 * i + 2));
    recording.records.push_back(kernel(id, 100 * i + 60, 100 * i + 60 + spans[i]));
  }
  const std::vector<TagActivity> tags = by_tag(recording, attribute(recording));
  REQUIRE(tags.size() == 1);
  CHECK(tags[0].repeats == 4);
  CHECK(tags[0].span == TypicalDuration{ns(13), ns(2)});
  CHECK(tags[0].launch_gaps == TypicalDuration{});
  CHECK(tags[0].kernels == 1);
}

TEST_CASE("a tag is its section and its phase") {
  constexpr ActivityTag tag = activity_tag(513, ActivityPhase::kRecompute);
  static_assert(tag.value == 513U * 256 + 5);
  CHECK(section_of(tag) == 513);
  CHECK(phase_of(tag) == ActivityPhase::kRecompute);
  CHECK(activity_phase_named(name_of(ActivityPhase::kCommunication)) ==
        ActivityPhase::kCommunication);
  CHECK_FALSE(activity_phase_named(""));
}

}  // namespace
}  // namespace penstock
