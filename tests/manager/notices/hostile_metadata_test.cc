// The three clients against a real server on loopback that answers what the clouds document, and
// what nobody would: whatever it says, a client returns in its time with a notice or with trouble.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "manager/notices/aws.h"
#include "manager/notices/azure.h"
#include "manager/notices/gcp.h"
#include "manager/port/http_client.h"
#include "manager/port/http_server.h"
#include "tests/manager/notices/scripted_service.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

const UtcTime kNow = utc("2017-09-18T08:20:00Z");
const AskTime kClock = [] { return kNow; };

// What a real server says to everything but a request for a token.
struct Service {
  explicit Service(const std::optional<HttpResponse>& given) : said(given) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  std::optional<HttpResponse> said;
  HttpServer server{
      {}, [this](const HttpRequest& request, HttpConversation&) {
        return request.method == "PUT" ? HttpResponse{200, "text/plain", "token"} : said;
      }};

  // With little patience.
  HttpExchange exchange() {
    return [client = http_exchange({"127.0.0.1", server.port()})](HttpCall call) {
      call.limit = 200ms;
      return client(call);
    };
  }
  std::vector<std::unique_ptr<CloudNotices>> clients() {
    std::vector<std::unique_ptr<CloudNotices>> all;
    all.push_back(aws_notices(exchange()));
    all.push_back(gcp_notices(exchange(), {}));
    all.push_back(azure_notices(exchange()));
    return all;
  }
};

TEST_CASE("documented bodies arrive over a real connection") {
  Service aws(HttpResponse{200, "application/json",
                           R"({"action": "stop", "time": "2017-09-18T08:22:00Z"})"});
  CHECK(aws.clients()[0]->ask(kClock).notices.at(0).at == utc("2017-09-18T08:22:00Z"));
  Service gcp(HttpResponse{200, "application/text", "TRUE"});
  CHECK(gcp.clients()[1]->ask(kClock).notices.at(0).at == kNow + 30s);
  Service azure(HttpResponse{
      200, "application/json",
      R"({"DocumentIncarnation": 1, "Events": [{"EventId": "1", "EventType": "Preempt", "Resources": ["a"],
          "EventStatus": "Scheduled", "NotBefore": "Mon, 18 Sep 2017 08:22:00 GMT"}]})"});
  CHECK(azure.clients()[2]->ask(kClock).notices.at(0).at == utc("2017-09-18T08:22:00Z"));
}

TEST_CASE("nonsense is trouble, whoever asks") {
  const std::string deep(100'000, '[');
  for (const HttpResponse& said :
       {HttpResponse{200, "text/html", "<html>login</html>"}, HttpResponse{200, "text/plain", ""},
        HttpResponse{200, "application/json", deep},
        HttpResponse{200, "text/plain", std::string(50'000, '\0')},
        HttpResponse{200, "text/plain", std::string(2'000'000, 'x')},
        HttpResponse{302, "text/plain", ""}, HttpResponse{500, "text/plain", "TRUE"}}) {
    Service service(said);
    for (const auto& client : service.clients()) {
      const NoticesRead read = client->ask(kClock);
      CHECK(read.notices.empty());
      CHECK_FALSE(read.trouble.empty());
      CHECK(read.trouble.size() < 300);  // part of a log line
    }
  }
}

TEST_CASE("a service that never answers costs its time, and no more") {
  Service service(std::nullopt);
  for (const auto& client : service.clients()) {
    const auto begin = std::chrono::steady_clock::now();
    const NoticesRead read = client->ask(kClock);
    CHECK(read.notices.empty());
    CHECK_FALSE(read.trouble.empty());
    CHECK(std::chrono::steady_clock::now() - begin < 3s);
  }
}

}  // namespace
}  // namespace penstock
