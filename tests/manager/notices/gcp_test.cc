#include "manager/notices/gcp.h"

#include <doctest/doctest.h>

#include "tests/manager/notices/scripted_service.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

const std::string kPreempted = "GET /computeMetadata/v1/instance/preempted";
const std::string kMaintenance = "GET /computeMetadata/v1/instance/maintenance-event";
const std::string kWaiting = "?wait_for_change=true&timeout_sec=20&last_etag=";
const UtcTime kNow = utc("2026-01-01T00:00:00Z");

TEST_CASE("a preempted machine counts as gone after the notice") {
  CHECK(read_gcp_preempted("FALSE", kNow, 30s) == NoticesRead{});
  const NoticesRead read = read_gcp_preempted("TRUE\n", kNow, 30s);
  REQUIRE(read.notices.size() == 1);
  CHECK(read.notices[0].kind == CloudNoticeKind::kLoss);
  CHECK(read.notices[0].at == utc("2026-01-01T00:00:30Z"));
  for (const char* body : {"", "true", "<html>", "TRUE FALSE"}) {
    CHECK(read_gcp_preempted(body, kNow, 30s).notices.empty());
    CHECK_FALSE(read_gcp_preempted(body, kNow, 30s).trouble.empty());
  }
}

TEST_CASE("maintenance stops the machine, or moves it") {
  CHECK(read_gcp_maintenance("NONE", kNow) == NoticesRead{});
  const NoticesRead stop = read_gcp_maintenance("TERMINATE_ON_HOST_MAINTENANCE", kNow);
  CHECK(stop.notices.at(0).kind == CloudNoticeKind::kLoss);
  CHECK(stop.notices.at(0).at == utc("2026-01-01T00:01:00Z"));
  CHECK(read_gcp_maintenance("MIGRATE_ON_HOST_MAINTENANCE", kNow).notices.at(0).kind ==
        CloudNoticeKind::kRisk);
  CHECK_FALSE(read_gcp_maintenance("MAYBE", kNow).trouble.empty());
}

TEST_CASE("after the first answer the service is asked to wait for a change of it") {
  ScriptedService service;
  service.answers[kMaintenance] = {200, {}, "NONE", ""};
  service.answers[kPreempted] = {200, {{"etag", "fc8c6cfb69a8bd11"}}, "FALSE", ""};
  service.answers[kPreempted + kWaiting + "fc8c6cfb69a8bd11"] = {200, {{"ETag", "b"}}, "TRUE", ""};
  const auto gcp = gcp_notices(service.exchange(), {});
  // The answer comes 17 s after the question, and the notice counts from the answer.
  UtcTime time = kNow;
  const AskTime clock = [&time] { return time; };
  CHECK(gcp->ask(clock) == NoticesRead{});
  time = kNow + 17s;
  const NoticesRead read = gcp->ask(clock);
  REQUIRE(read.notices.size() == 1);
  CHECK(read.notices[0].at == kNow + 47s);
  for (const HttpCall& call : service.calls) {
    CHECK(call.headers == HttpHeaders{{"Metadata-Flavor", "Google"}});
  }
  CHECK(service.calls.back().limit == 30s);
}

TEST_CASE("maintenance counts from the last look that found none") {
  ScriptedService service;
  service.answers[kMaintenance] = {200, {}, "NONE", ""};
  service.answers[kPreempted] = {200, {}, "FALSE", ""};
  const auto gcp = gcp_notices(service.exchange(), {});
  UtcTime time = kNow;
  const AskTime clock = [&time] { return time; };
  (void)gcp->ask(clock);
  time = kNow + 20s;
  service.answers[kMaintenance] = {200, {}, "TERMINATE_ON_HOST_MAINTENANCE", ""};
  CHECK(gcp->ask(clock).notices.at(0).at == kNow + 60s);
}

TEST_CASE("503 means again; other answers are trouble, and an odd ETag is not sent back") {
  ScriptedService service;
  service.answers[kMaintenance] = {503, {}, "", ""};
  service.answers[kPreempted] = {503, {}, "", ""};
  const auto gcp = gcp_notices(service.exchange(), {});
  const AskTime clock = [] { return kNow; };
  CHECK(gcp->ask(clock) == NoticesRead{});
  service.answers[kPreempted] = {403, {}, "", ""};
  CHECK_FALSE(gcp->ask(clock).trouble.empty());
  service.answers[kPreempted] = {200, {{"ETag", "a&last_etag=0 HTTP/1.1"}}, "FALSE", ""};
  CHECK(gcp->ask(clock) == NoticesRead{});
  CHECK(gcp->ask(clock) == NoticesRead{});
  CHECK(service.calls.back().path == "/computeMetadata/v1/instance/preempted");
}

}  // namespace
}  // namespace penstock
