// What a request to the manager's port is answered, and which command it is, if any: a pure
// function, since everything that a stranger may send goes through it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "manager/port/command_message.h"
#include "manager/port/http_request.h"
#include "manager/port/http_server.h"
#include "manager/port/port_key.h"

namespace penstock {

inline constexpr const char* kSignatureHeader = "Penstock-Signature";

// What the port knows of the job.
struct PortView {
  std::string job{};
  // The machines that commands may name; nothing: any.
  std::optional<std::vector<std::string>> machines{};
  std::string status{};   // JSON
  std::string metrics{};  // Prometheus' text format
  bool operator==(const PortView&) const = default;
};

struct RequestAnswer {
  std::optional<HttpResponse> response{};  // none: the command's outcome will be the answer
  std::optional<CommandMessage> command{};
};

// GET /challenge      anyone: a word that is good for one command on this connection
// POST /command       a message that answers the challenge, signed with the key
// GET /status         with the token for reading
// GET /metrics        the same
// All else is refused. `random` makes challenges.
RequestAnswer answer_request(const HttpRequest& request, const PortView& view, const PortKey& key,
                             HttpConversation& conversation,
                             const std::function<std::string()>& random);

// {"ok": false, "error": "..."}
HttpResponse refused_response(int status, const std::string& why);

}  // namespace penstock
