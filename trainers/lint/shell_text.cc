#include "trainers/lint/shell_text.h"

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

}  // namespace penstock
