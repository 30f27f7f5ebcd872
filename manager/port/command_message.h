// What a message to the manager's port says: who asks for what, for which job, and the challenge
// that it answers. Reading is strict; what is read has the form of a command, and nothing more is
// known of it.
#pragma once

#include <string>
#include <string_view>

#include "manager/event.h"

namespace penstock {

struct CommandMessage {
  std::string job{};
  std::string challenge{};  // what the manager said last on this connection
  CommandGiven command{};   // with its id: sent again, it has no effect
  bool operator==(const CommandMessage&) const = default;
};

// Error{kBadInput} for everything that is no message of penstock.command/1.
CommandMessage read_command_message(const std::string& text);
std::string write_command_message(const CommandMessage& message);

// A name that may stand in a list of machines: at most 253 letters, digits and . _ - : and no
// other, so that it is never an option, a path or several words.
bool is_machine_name(std::string_view text);

// "preempt node3 at 2026-11-24T01:25:43.000Z"
std::string command_words(const CommandGiven& command);

}  // namespace penstock
