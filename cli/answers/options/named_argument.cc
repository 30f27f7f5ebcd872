#include "cli/answers/options/named_argument.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "core/values/error.h"

namespace penstock {
namespace {

bool is_name(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalpha(c) != 0 || c == '_';
  });
}

// A file that is there and of the kind that the verb takes first.
bool is_file_for(const std::string& takes, const std::string& file) {
  if (!is_there(file)) return false;
  const FileRole role = role_of(file);
  const bool is_model = role == FileRole::kModel || role == FileRole::kProfile;
  if (takes == "MODEL" || takes == "CONFIG") return is_model;
  if (takes == "PLAN") return role == FileRole::kPlan;
  return takes.starts_with("FILE") && role == FileRole::kScript;
}

// "gpus=64" as "--gpus", "64", where the verb has such an option.
Arguments as_options(const WordIndex& index, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (word.starts_with('-') || equals == std::string::npos || is_there(word)) return {word};
  const std::string option = "--" + plain_word(word.substr(0, equals));
  if (!index.takes_value(option)) return {word};
  return {option, word.substr(equals + 1)};
}

}  // namespace

void refuse_named_argument(const WordIndex& index, const Arguments& words) {
  const std::string first = words.empty() ? "" : words.front();
  const std::size_t equals = first.find('=');
  if (equals == std::string::npos || !is_name(first.substr(0, equals)) || is_there(first)) return;
  const std::string name = first.substr(0, equals), value = first.substr(equals + 1);
  const std::string takes = first_argument(index.usage());
  const bool is_called_so = !index.help_for_argument(name).empty();
  if (value.empty() || (!is_called_so && !is_file_for(takes, value))) return;
  Arguments meant{value};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_value = index.takes_value(words[i - 1]);
    const Arguments option = is_value ? Arguments{words[i]} : as_options(index, words[i]);
    meant.insert(meant.end(), option.begin(), option.end());
  }
  const std::string& usage = index.usage();
  throw_bad_input(fmt::format("'{}': this argument has no name\nhelp: write {}", first,
                              whole_command(usage.substr(0, usage.find(' ')), meant)));
}

}  // namespace penstock
