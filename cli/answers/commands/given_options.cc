#include "cli/answers/commands/given_options.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/words/is_among.h"

namespace penstock {
namespace {

// "-1" and "-" are values.
bool is_option_word(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

}  // namespace

GivenWords given_words(const OptionTable& table, const Arguments& words) {
  GivenWords given;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!is_option_word(words[i])) {
      given.bare.push_back(words[i]);
      continue;
    }
    const std::size_t equals = words[i].find('=');
    GivenOption option{words[i].substr(0, equals), "", i, i + 1};
    const OptionRow* row = row_named(table, option.name);
    const bool has_next = i + 1 < words.size() && !is_option_word(words[i + 1]);
    if (equals != std::string::npos) {
      option.value = words[i].substr(equals + 1);
    } else if (has_next && (row == nullptr || row->takes_value())) {
      option.value = words[++i];
      option.end = i + 1;
    }
    given.options.push_back(std::move(option));
  }
  return given;
}

std::optional<std::string> value_of(const Arguments& words,
                                    std::initializer_list<std::string_view> options) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (!is_among(options, words[i].substr(0, equals))) continue;
    if (equals != std::string::npos) return words[i].substr(equals + 1);
    if (i + 1 < words.size() && !is_option_word(words[i + 1])) return words[i + 1];
  }
  return {};
}

Arguments with_instead(Arguments words, const GivenOption& option, const Arguments& instead) {
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(option.begin);
  const auto at =
      words.erase(begin, begin + static_cast<std::ptrdiff_t>(option.end - option.begin));
  words.insert(at, instead.begin(), instead.end());
  return words;
}

Arguments without(Arguments words, const std::vector<GivenOption>& options) {
  for (auto option = options.rbegin(); option != options.rend(); ++option) {
    words = with_instead(std::move(words), *option, {});
  }
  return words;
}

bool is_about_answer(std::string_view option) {
  return is_among({"-o", "--output", "-v", "-q", "--verbose", "--quiet", "--json", "--help", "-h",
                   "--debug", "--jobs"},
                  option);
}

const OptionRow* row_named(const OptionTable& table, std::string_view name) {
  const auto row = std::find_if(table.rows.begin(), table.rows.end(), [&](const OptionRow& each) {
    return !each.positional &&
           std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  return row == table.rows.end() ? nullptr : &*row;
}

std::string verb_of(const OptionTable& table) {
  return table.usage.substr(0, table.usage.find(' '));
}

}  // namespace penstock
