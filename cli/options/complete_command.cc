#include "cli/options/complete_command.h"

#include <algorithm>

#include "cli/io/shell_word.h"
#include "cli/options/field_words.h"
#include "cli/options/given_options.h"

namespace penstock {
namespace {

bool has_batch(const Arguments& read) {
  if (value_of(read, {"--global-batch", "--global-batch-tokens"}).has_value()) return true;
  return std::any_of(read.begin(), read.end(), [](const std::string& word) {
    return key_called(word.substr(0, word.find('='))) == "global-batch";
  });
}

}  // namespace

std::string complete_command(const std::string& verb, Arguments words, const Arguments& read,
                             const std::string& batch) {
  const bool lacks_layout = verb == "predict" && !value_of(read, {"--layout"});
  if (!has_batch(read)) {
    words.insert(words.end(), {verb == "predict" ? "--gbs" : "--global-batch", batch});
  }
  const bool lacks_settings = verb == "compare" && !value_of(read, {"--vary"});
  return command_of(verb, words) + (lacks_layout || lacks_settings ? " ..." : "");
}

}  // namespace penstock
