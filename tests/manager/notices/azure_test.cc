#include "manager/notices/azure.h"

#include <doctest/doctest.h>

#include "tests/manager/notices/scripted_service.h"

namespace penstock {
namespace {

const std::string kEvents = "/metadata/scheduledevents?api-version=2020-07-01";
const UtcTime kNow = utc("2016-09-19T18:29:00Z");
const AskTime kClock = [] { return kNow; };

std::string document(int incarnation, const std::string& type, const std::string& status,
                     const std::string& not_before) {
  return R"({"DocumentIncarnation": )" + std::to_string(incarnation) +
         R"(, "Events": [{"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "EventType": ")" +
         type +
         R"(", "ResourceType": "VirtualMachine", "Resources": ["train_3", "train_1"], "EventStatus": ")" +
         status + R"(", "NotBefore": ")" + not_before +
         R"(", "Description": "", "EventSource": "Platform", "DurationInSeconds": -1}]})";
}
const std::string kPreempt = document(2, "Preempt", "Scheduled", "Mon, 19 Sep 2016 18:29:47 GMT");

TEST_CASE("a preemption is a loss of all its resources at its time") {
  const AzureEvents events = read_azure_events(kPreempt, kNow);
  CHECK(events.incarnation == "2");
  REQUIRE(events.read.notices.size() == 1);
  const CloudNotice& notice = events.read.notices[0];
  CHECK(notice.kind == CloudNoticeKind::kLoss);
  CHECK(notice.at == utc("2016-09-19T18:29:47Z"));
  CHECK(notice.id == "azure/C7061BAC-AFDC-4513-B24B-AA5F13A16123");
  CHECK(notice.machines == std::vector<std::string>{"train_3", "train_1"});
}

TEST_CASE("what has started is happening now, and a freeze takes nothing") {
  CHECK(read_azure_events(document(1, "Reboot", "Started", ""), kNow).read.notices.at(0).at ==
        kNow);
  const std::string later = "Mon, 19 Sep 2016 18:29:47 GMT";
  CHECK(read_azure_events(document(1, "Reboot", "Started", later), kNow).read.notices.at(0).at ==
        kNow);
  CHECK(read_azure_events(document(1, "Freeze", "Scheduled", ""), kNow).read.notices.at(0).kind ==
        CloudNoticeKind::kRisk);
}

TEST_CASE("no events are no notice, and bodies that say something else are trouble") {
  CHECK(read_azure_events(R"({"DocumentIncarnation": 1, "Events": []})", kNow).read ==
        NoticesRead{});
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"Events": {}})"),
        std::string(R"({"Events": [7]})"), std::string(R"({"Events": [{}]})"),
        document(1, "Vanish", "Scheduled", ""), document(1, "Preempt", "Scheduled", "soon"),
        std::string(
            R"({"Events": [{"EventId": "a", "EventType": "Preempt", "NotBefore": ""}]})")}) {
    CAPTURE(body);
    const AzureEvents events = read_azure_events(body, kNow);
    CHECK(events.read.notices.empty());
    CHECK_FALSE(events.read.trouble.empty());
    CHECK(events.incarnation.empty());  // so that it is looked at again
  }
}

TEST_CASE("an event that cannot be read does not hide the others") {
  const AzureEvents events = read_azure_events(
      R"({"Events": [{}, {"EventId": "b", "EventType": "Preempt", "NotBefore": "", "Resources": ["a"]}]})",
      kNow);
  CHECK(events.read.notices.size() == 1);
  CHECK_FALSE(events.read.trouble.empty());
}

TEST_CASE("the service is asked as it wants to be, and approved event by event") {
  ScriptedService service;
  service.answers["GET " + kEvents] = {200, {}, kPreempt, ""};
  service.answers["POST " + kEvents] = {200, {}, "", ""};
  const auto azure = azure_notices(service.exchange());
  const NoticesRead read = azure->ask(kClock);
  CHECK(service.calls[0].headers == HttpHeaders{{"Metadata", "true"}});
  CHECK(azure->approve(read.notices.at(0)));
  CHECK(service.calls[1].body ==
        R"({"StartRequests": [{"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123"}]})");
  service.answers["POST " + kEvents].status = 400;
  CHECK_FALSE(azure->approve(read.notices.at(0)));
}

TEST_CASE("an equal incarnation is nothing new: the time of a started event stays") {
  ScriptedService service;
  service.answers["GET " + kEvents] = {200, {}, document(5, "Reboot", "Started", ""), ""};
  const auto azure = azure_notices(service.exchange());
  UtcTime time = kNow;
  const AskTime clock = [&time] { return time; };
  const NoticesRead first = azure->ask(clock);
  time = kNow + std::chrono::seconds(9);
  CHECK(azure->ask(clock) == first);
}

}  // namespace
}  // namespace penstock
