// A word without dashes that a verb has no place for, with all that the answers to it look at:
// people part lists and units, leave the option out that a file or a name follows, or give a value
// to what has none. Every answer names the next thing to write, and is empty where it does not fit.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/answers/options/option_readings.h"
#include "cli/io/answer.h"

namespace penstock {

struct SurplusWord {
  const std::string& word;
  const Arguments &own, &left;  // all that was typed, in the verb's options; what has no place
  const std::string& usage;     // "plan MODEL --device NAME ..."
  const Asked& asked;
  Arguments choice;  // the option that lists the word among its values, and the value; or empty

  [[nodiscard]] std::string verb() const { return usage.substr(0, usage.find(' ')); }
  [[nodiscard]] bool has(std::string_view option) const { return asked.has(option); }
  [[nodiscard]] bool is_given(std::string_view option) const;
  [[nodiscard]] Arguments::const_iterator place() const;  // in `own`
  // `own` without the word, where it stands first.
  [[nodiscard]] Arguments others() const;
};

using SurplusHelp = std::string (*)(const SurplusWord&);
// What the first of them says that says anything.
std::string first_help(std::initializer_list<SurplusHelp> helps, const SurplusWord& surplus);

// By its letters, or because it is there.
bool looks_like_file(const std::string& word);

}  // namespace penstock
