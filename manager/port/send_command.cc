#include "manager/port/send_command.h"

#include <utility>

#include "core/values/error.h"
#include "core/values/json.h"
#include "manager/port/answer_request.h"

namespace penstock {
namespace {

constexpr std::size_t kLongestStatus = 4UL << 20;

std::string why_not(const HttpReply& reply) {
  return reply.status == 0 ? reply.trouble : "it answered " + std::to_string(reply.status);
}

// A string of the JSON object in an answer; "" where it is none, or has no such key.
std::string text_in(const HttpReply& reply, std::string_view key) {
  try {
    const Json json = parse_json(reply.body, "answer");
    const Json* found = json.find(key);
    return found != nullptr && found->kind() == Json::Kind::kString ? found->text() : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

ManagerLine::ManagerLine(HttpExchange exchange, PortKey key, std::string job)
    : exchange_(std::move(exchange)), key_(std::move(key)), job_(std::move(job)) {}

SentCommand ManagerLine::send(const CommandGiven& command) {
  const HttpReply asked = exchange_({.method = "GET", .path = "/challenge"});
  const std::string challenge = text_in(asked, "challenge");
  if (asked.status != 200 || challenge.empty()) return {false, false, why_not(asked)};
  HttpCall call{.method = "POST", .path = "/command"};
  call.body = write_command_message({job_, challenge, command});
  call.headers = {{"Content-Type", "application/json"}, {kSignatureHeader, key_.sign(call.body)}};
  call.limit = std::chrono::seconds(20);  // the manager may be in the middle of something
  const HttpReply reply = exchange_(call);
  // 429 and 503: nothing is known of it, or it was not looked at.
  if (reply.status == 0 || reply.status == 429 || reply.status == 503) {
    return {false, false, why_not(reply)};
  }
  const bool done = reply.status == 200;
  const std::string words = text_in(reply, done ? "answer" : "error");
  return {true, done, words.empty() ? why_not(reply) : words};
}

std::optional<std::string> ManagerLine::status(std::string& trouble) {
  HttpCall call{.method = "GET", .path = "/status"};
  call.headers = {{"Authorization", "Bearer " + key_.read_token()}};
  call.most_bytes = kLongestStatus;
  HttpReply reply = exchange_(call);
  if (reply.status == 200) return std::move(reply.body);
  const std::string words = text_in(reply, "error");
  trouble = words.empty() ? why_not(reply) : words;
  return std::nullopt;
}

}  // namespace penstock
