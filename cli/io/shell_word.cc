#include "cli/io/shell_word.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace penstock {

std::string shell_word(const std::string& argument) {
  constexpr std::string_view kPlain = "_-./=,:@%+";
  const bool plain = std::all_of(argument.begin(), argument.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  if (plain && !argument.empty()) return argument;
  std::string text = "'";
  for (const char c : argument) {
    if (c == '\'') {
      text += R"('\'')";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string shell_words(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    text += (text.empty() ? "" : " ") + shell_word(argument);
  }
  return text;
}

std::string command_of(const std::string& verb, const Arguments& arguments) {
  return "penstock " + verb + (arguments.empty() ? "" : " ") + shell_words(arguments);
}

}  // namespace penstock
