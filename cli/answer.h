// What a verb hands to main(): everything for stdout, and the exit code.
#pragma once

#include <string>
#include <vector>

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
};

using Arguments = std::vector<std::string>;  // behind the verb

}  // namespace penstock
