// The manager's port: takes commands from outside and shows the job's state. It changes nothing by
// itself: the manager's loop takes the commands when it can, and says what became of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/values/units.h"
#include "manager/port/answer_request.h"
#include "manager/port/http_server.h"
#include "manager/port/port_key.h"

namespace penstock {

// A command that waits for its outcome.
struct PendingCommand {
  std::uint64_t conversation = 0;
  CommandMessage message{};
};

struct CommandOutcome {
  bool done = false;    // accepted now, or before under the same id
  std::string words{};  // what the manager does, or why it does not
};

class CommandPort {
 public:
  // Error{kMissingResource} when the address cannot be had.
  CommandPort(const HttpServerOptions& options, PortKey key, PortView view);
  ~CommandPort();
  CommandPort(const CommandPort&) = delete;
  CommandPort& operator=(const CommandPort&) = delete;

  [[nodiscard]] int port() const;
  // What is shown from now on.
  void show(PortView view);
  // Commands that came since the last time; waits for one at most `patience`.
  [[nodiscard]] std::vector<PendingCommand> take(Duration patience);
  void answer(const PendingCommand& command, const CommandOutcome& outcome);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock
