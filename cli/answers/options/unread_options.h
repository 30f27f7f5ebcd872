// All options of a command that its verb does not have, answered at once: whoever types one name of
// another tool types several. Where each has another name here, the whole command is said.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/answers/options/launch_counts.h"

namespace penstock {

struct UnreadOption {
  std::string name, value;
  std::string help;
  std::size_t at;                      // where it stood among those that were read
  bool takes_next;                     // its value is a word of its own
  const CountsMeant* group = nullptr;  // that says it together with others; or null
  bool is_certain = false;             // its words say it, so that nothing is guessed
};

// No more than so many are read: each costs milliseconds, and nobody reads more answers.
constexpr std::size_t kMostUnread = 64;

// Error{kBadInput}. `read`: the other arguments, in options of the verb.
[[noreturn]] void refuse_options(const std::vector<UnreadOption>& unread, const Arguments& read,
                                 const Asked& asked);

}  // namespace penstock
