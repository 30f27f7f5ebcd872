#include "manager/port/answer_request.h"

#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

const PortKey kKey(std::string(32, 'k'));
const PortKey kOtherKey(std::string(32, 'x'));
const PortView kView{"job", std::vector<std::string>{"a", "b"}, R"({"step": 7})",
                     "penstock_step 7\n"};

struct Peer {
  HttpConversation conversation{1, ""};
  int challenges = 0;

  RequestAnswer ask(const HttpRequest& request) {
    return answer_request(request, kView, kKey, conversation,
                          [this] { return "word" + std::to_string(++challenges); });
  }
  RequestAnswer get(const std::string& path, const std::string& token = "") {
    HttpRequest request{"GET", path};
    if (!token.empty()) request.headers = {{"Authorization", "Bearer " + token}};
    return ask(request);
  }
  RequestAnswer post(const CommandMessage& message, const PortKey& key = kKey) {
    HttpRequest request{"POST", "/command"};
    request.body = write_command_message(message);
    request.headers = {{"penstock-signature", key.sign(request.body)}};
    return ask(request);
  }
};

CommandMessage leave(const std::string& challenge, const std::string& machine = "b") {
  return {"job", challenge, {"id1", CommandKind::kLeave, "a", machine, 1, {}}};
}

TEST_CASE("a signed answer to the challenge is a command") {
  Peer peer;
  CHECK(peer.get("/challenge").response->body == "{\"challenge\": \"word1\"}\n");
  const RequestAnswer answer = peer.post(leave("word1"));
  CHECK_FALSE(answer.response);
  REQUIRE(answer.command);
  CHECK(answer.command->command == CommandGiven{"id1", CommandKind::kLeave, "a", "b", 1, {}});
}

TEST_CASE("the same message sent again is refused, on its connection and on another") {
  Peer peer;
  (void)peer.get("/challenge");
  CHECK(peer.post(leave("word1")).command);
  CHECK(peer.post(leave("word1")).response->status == 401);
  (void)peer.get("/challenge");
  CHECK(peer.post(leave("word1")).response->status == 401);

  Peer other;
  other.challenges = 5;
  CHECK(other.post(leave("word1")).response->status == 401);
  (void)other.get("/challenge");
  CHECK(other.post(leave("word1")).response->status == 401);
  (void)other.get("/challenge");
  CHECK(other.post(leave("")).response->status == 401);
}

TEST_CASE("a challenge is used up by a wrong answer") {
  Peer peer;
  (void)peer.get("/challenge");
  CHECK(peer.post(leave("word1"), kOtherKey).response->status == 401);
  CHECK(peer.post(leave("word1")).response->status == 401);
}

TEST_CASE("without the key a body is not even read") {
  Peer peer;
  HttpRequest request{"POST", "/command"};
  request.body = "{{{";
  CHECK(peer.ask(request).response->status == 401);
  // The token for reading is no signature.
  request.headers = {{kSignatureHeader, kKey.read_token()}};
  CHECK(peer.ask(request).response->status == 401);
  request.headers = {{kSignatureHeader, kKey.sign(request.body)}};
  CHECK(peer.ask(request).response->status == 400);
}

TEST_CASE("a changed byte breaks the signature") {
  Peer peer;
  (void)peer.get("/challenge");
  HttpRequest request{"POST", "/command"};
  request.body = write_command_message(leave("word1", "a"));
  request.headers = {{kSignatureHeader, kKey.sign(write_command_message(leave("word1", "b")))}};
  CHECK(peer.ask(request).response->status == 401);
}

TEST_CASE("another job's command and a machine that is not in the list are refused") {
  Peer peer;
  (void)peer.get("/challenge");
  CommandMessage message = leave("word1");
  message.job = "another";
  CHECK(peer.post(message).response->status == 409);
  (void)peer.get("/challenge");
  CHECK(peer.post(leave("word2", "c")).response->status == 409);
}

TEST_CASE("status and metrics are for those who have the token for reading") {
  Peer peer;
  for (const char* path : {"/status", "/metrics"}) {
    CHECK(peer.get(path).response->status == 401);
    CHECK(peer.get(path, "wrong").response->status == 401);
    CHECK(peer.get(path, kOtherKey.read_token()).response->status == 401);
    CHECK(peer.get(path, kKey.read_token()).response->status == 200);
  }
  CHECK(peer.get("/status", kKey.read_token()).response->body == kView.status);
  CHECK(peer.get("/metrics", kKey.read_token()).response->body == kView.metrics);
}

TEST_CASE("there is nothing else") {
  Peer peer;
  for (const char* path : {"/", "", "/status/", "/../etc/passwd", "//status", "*"}) {
    CAPTURE(path);
    CHECK(peer.get(path, kKey.read_token()).response->status == 404);
  }
  CHECK(peer.ask({"DELETE", "/status"}).response->status == 405);
  CHECK(peer.ask({"GET", "/command"}).response->status == 405);
  CHECK(peer.ask({"POST", "/challenge"}).response->status == 405);
}

}  // namespace
}  // namespace penstock
