// The order of the checks is the defence: nothing of a body is parsed before its signature holds,
// and a challenge is used up by whatever is sent next, right or wrong. So a stranger's bytes reach
// the comparison of signatures and nothing behind it, and a message that was recorded answers a
// challenge that is gone.
#include "manager/port/answer_request.h"

#include <algorithm>
#include <utility>

#include "core/values/error.h"
#include "core/values/json.h"

namespace penstock {
namespace {

constexpr std::string_view kBearer = "Bearer ";

bool may_read(const HttpRequest& request, const PortKey& key) {
  const std::string_view given = header_of(request.headers, "Authorization");
  return given.starts_with(kBearer) && key.is_read_token(given.substr(kBearer.size()));
}

HttpResponse read_only(const HttpRequest& request, const PortKey& key, const std::string& type,
                       const std::string& text) {
  if (!may_read(request, key)) {
    return refused_response(401, "send the token for reading: Authorization: Bearer TOKEN");
  }
  return {200, type, text};
}

RequestAnswer refused(int status, const std::string& why) {
  return {refused_response(status, why), std::nullopt};
}

bool is_known(const PortView& view, const std::string& machine) {
  return machine.empty() || !view.machines ||
         std::ranges::find(*view.machines, machine) != view.machines->end();
}

RequestAnswer take_command(const HttpRequest& request, const PortView& view, const PortKey& key,
                           HttpConversation& conversation) {
  const std::string challenge = std::exchange(conversation.challenge, "");
  if (!key.is_signature(request.body, header_of(request.headers, kSignatureHeader))) {
    return refused(401, "the signature is not right");
  }
  std::optional<CommandMessage> message;
  try {
    message = read_command_message(request.body);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    return refused(400, error.what());
  }
  if (challenge.empty() || message->challenge != challenge) {
    return refused(401,
                   "this answers no challenge of this connection: a message that was sent before");
  }
  if (message->job != view.job) return refused(409, "this manager runs another job: " + view.job);
  if (!is_known(view, message->command.machine)) {
    return refused(409, message->command.machine + " is not in the job's list of machines");
  }
  return {std::nullopt, std::move(message)};
}

}  // namespace

HttpResponse refused_response(int status, const std::string& why) {
  Json json = Json::object();
  json.set("ok", false).set("error", why);
  return {status, "application/json", to_text(json) + "\n"};
}

RequestAnswer answer_request(const HttpRequest& request, const PortView& view, const PortKey& key,
                             HttpConversation& conversation,
                             const std::function<std::string()>& random) {
  const bool gets = request.method == "GET";
  if (request.path == "/command") {
    if (request.method != "POST") return refused(405, "POST a command");
    return take_command(request, view, key, conversation);
  }
  if (request.path != "/challenge" && request.path != "/status" && request.path != "/metrics") {
    return refused(404, "there are /challenge, /command, /status and /metrics");
  }
  if (!gets) return refused(405, "GET it");
  if (request.path == "/challenge") {
    conversation.challenge = random();
    Json json = Json::object();
    json.set("challenge", conversation.challenge);
    return {HttpResponse{200, "application/json", to_text(json) + "\n"}, std::nullopt};
  }
  if (request.path == "/status") {
    return {read_only(request, key, "application/json", view.status), std::nullopt};
  }
  return {read_only(request, key, "text/plain; version=0.0.4", view.metrics), std::nullopt};
}

}  // namespace penstock
