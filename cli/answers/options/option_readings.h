// Every way to read an option that a verb does not have, each with a score; the best is taken or
// said. What the words themselves say (another name of an option, a degree, a row of the facts)
// always outweighs a guess (a part of the name, a near spelling, another verb's option).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/answers/options/option_aliases.h"

namespace penstock {

struct OptionReading {
  double score = 0.0;
  Arguments words;  // what is read instead; empty: nothing is, and `help` says what to do
  std::string help;
};

// Of the verb that was asked: what it declares.
struct Asked {
  const std::vector<std::string>& known;  // "--gpus", "-P"
  const std::vector<OptionRemark>& remarks;
  const std::function<const WordIndex&()>& index;  // may be empty

  [[nodiscard]] bool has(std::string_view option) const;
};

// The best of what the words say; nothing when they are no words of the field.
std::optional<OptionReading> certain_reading(const std::string& name, const std::string& value,
                                             const Asked& asked);
// The best of what they may have meant; says at least how to go on. Needs the index.
std::string best_guess(const std::string& name, const std::string& value, const Asked& asked);

}  // namespace penstock
