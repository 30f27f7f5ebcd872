#include "manager/notices/aws.h"

#include <doctest/doctest.h>

#include "tests/manager/notices/scripted_service.h"

namespace penstock {
namespace {

constexpr const char* kToken = "PUT /latest/api/token";
constexpr const char* kAction = "GET /latest/meta-data/spot/instance-action";
constexpr const char* kRebalance = "GET /latest/meta-data/events/recommendations/rebalance";
const UtcTime kNow = utc("2017-09-18T08:20:00Z");
const AskTime kClock = [] { return kNow; };

// The bodies of Amazon's user guide.
TEST_CASE("an instance action is a loss at its time") {
  const NoticesRead read =
      read_aws_instance_action(R"({"action": "terminate", "time": "2017-09-18T08:22:00Z"})", kNow);
  REQUIRE(read.notices.size() == 1);
  CHECK(read.notices[0].kind == CloudNoticeKind::kLoss);
  CHECK(read.notices[0].at == utc("2017-09-18T08:22:00Z"));
  CHECK(read.notices[0].words == "AWS announces: terminate at 2017-09-18T08:22:00.000Z");
  CHECK(read.trouble.empty());
}

TEST_CASE("a hibernation has begun when it is announced") {
  const NoticesRead read =
      read_aws_instance_action(R"({"action": "hibernate", "time": "2017-09-18T08:22:00Z"})", kNow);
  REQUIRE(read.notices.size() == 1);
  CHECK(read.notices[0].at == kNow);
}

TEST_CASE("a rebalance recommendation is a risk") {
  const NoticesRead read = read_aws_rebalance(R"({"noticeTime": "2020-10-27T08:22:00Z"})");
  REQUIRE(read.notices.size() == 1);
  CHECK(read.notices[0].kind == CloudNoticeKind::kRisk);
  CHECK(read.notices[0].at == utc("2020-10-27T08:22:00Z"));
}

TEST_CASE("bodies that say something else are trouble, and no notice") {
  for (const char* body :
       {"", "null", "[]", "{", "<html>", R"({"action": "dance", "time": "2017-09-18T08:22:00Z"})",
        R"({"action": "stop"})", R"({"action": "stop", "time": 5})",
        R"({"action": "stop", "time": "08:22"})", R"({"instance-action": "stop"})"}) {
    CAPTURE(body);
    const NoticesRead read = read_aws_instance_action(body, kNow);
    CHECK(read.notices.empty());
    CHECK_FALSE(read.trouble.empty());
  }
  CHECK_FALSE(read_aws_rebalance(R"({"noticeTime": "soon"})").trouble.empty());
}

TEST_CASE("one token serves many questions, and 404 means nothing") {
  ScriptedService service;
  service.answers[kToken] = {200, {}, "AQAEANL==", ""};
  const auto aws = aws_notices(service.exchange());
  CHECK(aws->ask(kClock) == NoticesRead{});
  CHECK(aws->ask(kClock) == NoticesRead{});
  CHECK(service.count("PUT") == 1);
  CHECK(service.calls[0].headers == HttpHeaders{{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}});
  CHECK(service.calls[1].headers == HttpHeaders{{"X-aws-ec2-metadata-token", "AQAEANL=="}});
  CHECK(service.count("GET") == 4);
}

TEST_CASE("a token that has run out is fetched again, once per question") {
  ScriptedService service;
  service.answers[kToken] = {200, {}, "token", ""};
  service.answers[kAction] = {401, {}, "", ""};
  const auto aws = aws_notices(service.exchange());
  CHECK_FALSE(aws->ask(kClock).trouble.empty());
  CHECK(service.count("PUT") == 2);
  service.answers[kAction] = {200, {}, R"({"action": "stop", "time": "2017-09-18T08:22:00Z"})", ""};
  CHECK(aws->ask(kClock).notices.size() == 1);
  CHECK(service.count("PUT") == 2);
}

TEST_CASE("what is no token is not sent as a header") {
  ScriptedService service;
  service.answers[kToken] = {200, {}, "a\r\nHost: b", ""};
  CHECK_FALSE(aws_notices(service.exchange())->ask(kClock).trouble.empty());
  CHECK(service.count("GET") == 0);
}

TEST_CASE("an action outranks a recommendation") {
  ScriptedService service;
  service.answers[kToken] = {200, {}, "token", ""};
  service.answers[kRebalance] = {200, {}, R"({"noticeTime": "2020-10-27T08:22:00Z"})", ""};
  const auto aws = aws_notices(service.exchange());
  CHECK(aws->ask(kClock).notices[0].kind == CloudNoticeKind::kRisk);
  service.answers[kAction] = {200, {}, R"({"action": "stop", "time": "2017-09-18T08:22:00Z"})", ""};
  CHECK(aws->ask(kClock).notices[0].kind == CloudNoticeKind::kLoss);
}

}  // namespace
}  // namespace penstock
