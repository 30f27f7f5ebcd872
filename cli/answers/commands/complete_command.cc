#include "cli/answers/commands/complete_command.h"

#include <algorithm>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/words/field_words.h"

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
  const bool has_samples = verb != "dynamic";  // whose batches are tokens
  if (has_samples && !has_batch(read)) {
    words.insert(words.end(), {verb == "predict" ? "--gbs" : "--global-batch", batch});
  }
  return whole_command(verb, words);
}

}  // namespace penstock
