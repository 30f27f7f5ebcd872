// A command as it was typed: what is missing is said as that command with examples in the places of
// it, which can be run as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/answer.h"

namespace penstock {

struct TypedCommand {
  std::string usage;  // "plan MODEL --device NAME --gpus N --global-batch B [OPTIONS]"
  Arguments words;    // behind the verb, in the options of the verb
  std::vector<std::vector<std::string>> valued;  // the names of each option that takes a value
  Arguments read = {};  // where a verb calls the words otherwise: as it reads them

  // Whether the option, by one of its names, was typed.
  [[nodiscard]] bool has(std::string_view option) const;
  // With an example for all that the usage line asks for and nobody typed.
  [[nodiscard]] std::string whole() const;
};

// The value of an option that must be given.
const std::string& required(const std::optional<std::string>& value, const std::string& option,
                            const TypedCommand& command);

}  // namespace penstock
