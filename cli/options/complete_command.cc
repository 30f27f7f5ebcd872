#include "cli/options/complete_command.h"

#include <algorithm>

#include "cli/options/field_words.h"
#include "cli/options/given_options.h"
#include "cli/options/whole_command.h"

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
  if (!has_batch(read)) {
    words.insert(words.end(), {verb == "predict" ? "--gbs" : "--global-batch", batch});
  }
  return whole_command(verb, words);
}

}  // namespace penstock
