#include "profiler/activity_file.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

// One forward of section 3: a kernel and a copy.
constexpr const char* kText = R"({
  "format": "penstock.activity/1",
  "device": "made up",
  "driver": "none",
  "date": "2026-01-01",
  "dropped_records": 0,
  "scopes": [{"section": 3, "phase": "forward", "begin_ns": 0, "end_ns": 100, "thread": 11}],
  "records": [
    {"kind": "runtime", "start_ns": 10, "end_ns": 20, "correlation": 1, "thread": 11},
    {"kind": "external_correlation", "external_id": 769, "correlation": 1},
    {"kind": "kernel", "start_ns": 50, "end_ns": 80, "correlation": 1, "stream": 7, "name": "gemm"},
    {"kind": "runtime", "start_ns": 30, "end_ns": 31, "correlation": 2, "thread": 11},
    {"kind": "memcpy", "start_ns": 90, "end_ns": 95, "correlation": 2, "stream": 7, "bytes": 64}
  ]
})";

ActivityRecording read(const std::string& text) {
  return read_activity(parse_json(text, "r.json"), "r.json");
}

std::string refusal(std::string text, const std::string& part, const std::string& replacement) {
  text.replace(text.find(part), part.size(), replacement);
  return tests::message_of([&] { (void)read(text); });
}

TEST_CASE("a recording is replayed from its file") {
  const ActivityRecording recording = read(kText);
  const Attribution found = attribute(recording);
  CHECK_FALSE(why_void(recording, found));
  REQUIRE(found.scopes.size() == 1);
  CHECK(found.scopes[0] == ScopeActivity{Duration{35}, Duration{35}, Duration{45}, Duration{10}, 1,
                                         1, 0, Bytes{64}, Bytes{0}});
  CHECK(found.confirmed == 1);
  CHECK(recording.scopes[0].tag == activity_tag(3, ActivityPhase::kForward));
}

TEST_CASE("what is written reads back") {
  const ActivityRecording recording = read(kText);
  CHECK(read(to_text(write_activity(recording))) == recording);
}

TEST_CASE("the reader is strict") {
  CHECK(refusal(kText, "activity/1", "activity/2").find("r.json:2: /format") == 0);
  CHECK(refusal(kText, "\"forward\"", "\"fwd\"").find("/scopes/0/phase: expected forward") !=
        std::string::npos);
  CHECK(refusal(kText, "\"kernel\"", "\"kernal\"").find("/records/2/kind: expected kernel") !=
        std::string::npos);
  CHECK(refusal(kText, "\"stream\": 7", "\"streem\": 7").find("streem") != std::string::npos);
  CHECK(refusal(kText, "\"correlation\": 1", "\"correlation\": -1").find("got -1") !=
        std::string::npos);
  CHECK_FALSE(refusal(kText, "\"end_ns\": 100", "\"end_ns\": -1").empty());
  CHECK(refusal(kText, "\"begin_ns\": 0", "\"begin_ns\": 101").find("not before") !=
        std::string::npos);
  CHECK_FALSE(refusal(kText, "\"dropped_records\": 0,", "").empty());
}

}  // namespace
}  // namespace penstock
