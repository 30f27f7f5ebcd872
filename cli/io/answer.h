// What a verb hands to main(): everything for stdout, the exit code, and what is said beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/values/json.h"

namespace penstock {

enum ExitCode {
  kYes = 0,
  kNo = 1,           // nothing fits, the checker found something
  kBadUsage = 2,     // malformed arguments or files
  kEnvironment = 3,  // a file that is not there, a full disk
  kStopped = 4,      // Ctrl-C or a budget; the best so far was printed
  kOurBug = 70,
};

struct Answer {
  std::string text;
  int exit = kYes;
  std::string remark{};       // for stderr, whole lines: why a table is empty
  bool has_headings = false;  // a text for people, which a terminal may show in colour
};

// A text for people, with headings.
inline Answer report_answer(std::string text, int exit = kYes) {
  return {std::move(text), exit, "", true};
}

inline Answer json_answer(const Json& json, int exit = kYes) {
  return {to_text(json) + '\n', exit};
}

// What --help answers: a text for people, or the table of options as JSON.
inline Answer help_answer(std::string text) {
  const bool is_json = text.starts_with('{');
  return {std::move(text), kYes, "", !is_json};
}

using Arguments = std::vector<std::string>;  // behind the verb

}  // namespace penstock
