#include "cli/answers/words/moved_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/words/trainer_called.h"
#include "report/words.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// Of a file that the verb writes: nobody writes over one that is read, and `export` fills a folder.
bool is_written(const std::string& word, std::string_view verb) {
  constexpr std::array<std::string_view, 8> kEndings{".json", ".html", ".svg", ".png",
                                                     ".csv",  ".md",   ".tar", ".out"};
  const bool is_folder = word.find('.') == std::string::npos && !word.empty();
  if (verb == "export") return is_folder;
  if (word.ends_with(".json") && verb != "trace" && role_of(word) != FileRole::kPlan) return false;
  return !is_there(word) && std::any_of(kEndings.begin(), kEndings.end(),
                                        [&](auto ending) { return word.ends_with(ending); });
}

// The option that takes the word, and the word as it takes it; nothing where none does.
Arguments option_for(const std::string& word, std::string_view verb, const Asked& asked) {
  const std::string trainer = trainer_called(word);
  const bool is_trainer = find_trainer(trainer) != nullptr;
  if (is_trainer && asked.has("--to")) return {"--to", trainer};
  if (is_trainer && asked.has("--for")) return {"--for", trainer};
  const FileRole role = role_of(word);
  if (asked.has("--run") && role == FileRole::kLog) return {"--run", word};
  if (asked.has("--cluster") && role == FileRole::kCluster && is_there(word)) {
    return {"--cluster", word};
  }
  if (asked.has("--output") && is_written(word, verb)) return {"-o", word};
  return {};
}

bool is_given(const Arguments& words, const std::string& option) {
  const std::string longer = option == "-o" ? "--output" : option;
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word == longer || word.starts_with(longer + '=');
  });
}

}  // namespace

std::string help_for_moved(const Arguments& own, const Arguments& left, const Asked& asked) {
  const std::string& usage = asked.index().usage();
  const std::string verb = usage.substr(0, usage.find(' '));
  if (own.empty() || own.front().starts_with('-') || left.empty()) return "";
  Arguments words = own, added;
  for (const std::string& word : left) {
    const auto at = std::find(words.begin() + 1, words.end(), word);
    if (at == words.end() || (at - 1)->starts_with('-')) return "";  // the value of a switch
    const Arguments option = option_for(word, verb, asked);
    if (option.empty() || is_given(words, option[0]) || is_given(added, option[0])) return "";
    words.erase(at);
    const bool is_cluster = option[0] == "--cluster";  // a part of the question
    Arguments& place = is_cluster ? words : added;
    place.insert(is_cluster ? place.begin() + 1 : place.end(), option.begin(), option.end());
  }
  words.insert(words.end(), added.begin(), added.end());
  return (left.size() == 1 ? "it follows its option: " : "they follow their options: ") +
         whole_command(verb, words);
}

}  // namespace penstock
