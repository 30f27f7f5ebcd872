#include "trainers/lint/shell_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace penstock {

std::vector<ShellText> ShellText::split() const {
  std::vector<ShellText> parts;
  bool inside = false;
  for (std::size_t i = 0; i < chars_.size(); ++i) {
    const char c = chars_[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      inside = false;
      continue;
    }
    if (!inside) parts.emplace_back();
    inside = true;
    parts.back().add(c, lines_[i]);
  }
  return parts;
}

ShellWord ShellText::word(int line) const {
  ShellWord word;
  word.line = lines_.empty() ? line : lines_.front();
  std::string name;
  bool inside = false;
  for (std::size_t i = 0; i < chars_.size(); ++i) {
    const char c = chars_[i];
    if (c == kBegin) {
      inside = true;
    } else if (c == kEnd) {
      inside = false;
      if (word.unresolved.empty()) word.unresolved = name;
      word.text += name;
      name.clear();
    } else {
      (inside ? name : word.text) += c;
    }
    word.lines.resize(word.text.size(), lines_[i]);
  }
  return word;
}

bool is_override(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('+'), word.size()));
  const std::string_view name = word.substr(0, word.find('='));
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_of_name = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '@' || c == '/' || c == '-';
  };
  const std::size_t dot = name.find('.');
  return name.size() < word.size() && dot != std::string_view::npos && dot + 1 < name.size() &&
         is_letter(name.front()) && std::all_of(name.begin(), name.end(), is_of_name);
}

bool is_choice(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return name.size() < word.size() && !name.empty() && name.front() != '_' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace penstock
