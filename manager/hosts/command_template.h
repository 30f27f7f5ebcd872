// How a command is run on another host: a line with places for what differs, such as
//   ssh -o BatchMode=yes {host} {command}
//   srun --nodes 1 --nodelist {host} {command...}
// It is divided into words once, as a shell would, and no local shell ever sees the result.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// One word of a command, so that a shell reads it back as it is.
std::string quoted_for_shell(const std::string& word);
// A whole command, as one line for a shell.
std::string shell_line(const std::vector<std::string>& words);

class CommandTemplate {
 public:
  // Error{kBadInput} for an open quote, an unknown place, or none for the command.
  explicit CommandTemplate(const std::string& text);

  // What to execute. {host} is replaced within words; {command} is the command as one word that a
  // shell on the other side reads, {command...} each word by itself.
  [[nodiscard]] std::vector<std::string> words(const std::string& host,
                                               const std::vector<std::string>& command) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace penstock
