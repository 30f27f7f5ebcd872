// The other side of the port: commands to a manager, and questions about its job.
#pragma once

#include <optional>
#include <string>

#include "manager/port/command_message.h"
#include "manager/port/http_call.h"
#include "manager/port/port_key.h"

namespace penstock {

// What the manager answered. `was_answered` false: nobody did, and the command may be sent again
// under the same id.
struct SentCommand {
  bool was_answered = false;
  bool done = false;
  std::string words{};
  bool operator==(const SentCommand&) const = default;
};

class ManagerLine {
 public:
  // `exchange` keeps one connection: a challenge is answered where it was given.
  ManagerLine(HttpExchange exchange, PortKey key, std::string job);

  // The id is made once for a command, and is the same when it is sent again.
  [[nodiscard]] SentCommand send(const CommandGiven& command);
  // The JSON of /status; or nothing, and `trouble` says why.
  [[nodiscard]] std::optional<std::string> status(std::string& trouble);

 private:
  HttpExchange exchange_;
  PortKey key_;
  std::string job_;
};

}  // namespace penstock
