#include "cli/answers/words/surplus_word.h"

#include <algorithm>

#include "cli/answers/files/typed_files.h"
#include "cli/words/is_among.h"

namespace penstock {

bool SurplusWord::is_given(std::string_view option) const { return is_among(own, option); }

Arguments::const_iterator SurplusWord::place() const {
  for (auto at = own.begin(); at != own.end(); ++at) {  // not the 64 of "--gpus 64"
    const bool is_value = at != own.begin() && asked.index().takes_value(*(at - 1));
    if (*at == word && !is_value) return at;
  }
  return std::find(own.begin(), own.end(), word);
}

Arguments SurplusWord::others() const {
  Arguments words = own;
  words.erase(std::find(words.begin(), words.end(), word));
  return words;
}

std::string first_help(std::initializer_list<SurplusHelp> helps, const SurplusWord& surplus) {
  for (const SurplusHelp help_for : helps) {
    if (std::string help = help_for(surplus); !help.empty()) return help;
  }
  return "";
}

bool looks_like_file(const std::string& word) {
  return word.find('/') != std::string::npos || is_there(word) ||
         (word.find('.') != std::string::npos &&
          word.find_first_not_of("0123456789.") != std::string::npos);
}

}  // namespace penstock
