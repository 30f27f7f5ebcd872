// Text is broken at blanks, with the rest of a line indented to where its text began
// (hanging_column()). A command is broken with backslashes before an option and never inside
// quotes, so that what is copied from the screen still runs. Invariant: words and their order do
// not change, and a text that fits already stays as it is, to the byte.
#include "report/fit_lines.h"

#include <algorithm>
#include <vector>

#include "report/words.h"

namespace penstock {
namespace {

constexpr std::string_view kBackslash = " \\";

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool begins_command(std::string_view words) {
  return words.starts_with("penstock ") || words.starts_with("torchrun ");
}

// Where "penstock plan --x" begins in "help: the model comes first: penstock plan --x"; else npos.
std::size_t command_in(std::string_view line) {
  for (const std::string_view before : {": penstock ", "next: penstock "}) {
    const std::size_t found = line.find(before);
    const std::size_t begin = found + before.size() - std::string_view("penstock ").size();
    if (found == std::string_view::npos || line.substr(0, begin).ends_with("usage: ")) continue;
    if (line.find(" -", begin) != std::string_view::npos) return begin;
  }
  return std::string_view::npos;
}

// Where what follows the label of a line begins: "  4.572 s  TP 1 x PP 2", "rank 0 0F0 0F1".
std::size_t hanging_column(std::string_view line, std::size_t width) {
  const std::size_t indent = indent_of(line);
  const std::size_t gap = line.find("  ", indent);
  if (gap != std::string_view::npos) {
    const std::size_t column = std::min(line.find_first_not_of(' ', gap), line.size());
    if (column <= width / 2) return column;
  }
  if (line.starts_with("rank ")) {
    const std::size_t list = line.find_first_not_of(' ', line.find_first_not_of("0123456789", 5));
    if (list <= width / 2) return list;
  }
  if (line.substr(indent).starts_with("help: ")) return indent + 6;
  return indent + 2;
}

std::string without_blanks_at_ends(const std::string& lines) {
  std::string out;
  for (const char c : lines) {
    if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

std::string fit_words(std::string_view line, std::size_t width) {
  const std::size_t column = hanging_column(line, width);
  // The label goes in whole, so that its blanks stay.
  const bool has_label = column > indent_of(line) + 2 && line[column - 1] == ' ';
  const std::size_t begin = has_label ? column : indent_of(line);
  return without_blanks_at_ends(wrapped(
      line.substr(begin), width, std::string(line.substr(0, begin)), std::string(column, ' ')));
}

// The words of a command; what stands in quotes is one.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words{""};
  char quote = 0;
  for (const char c : command) {
    if ((c == '\'' || c == '"') && (quote == 0 || quote == c)) quote = quote == 0 ? c : '\0';
    if (c == ' ' && quote == 0) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Lines of a command: the first after `first` blanks, the others after `rest`.
class CommandLines {
 public:
  CommandLines(std::size_t width, std::size_t first, std::size_t rest)
      : width_(width), rest_(rest), line_(first, ' ') {}

  // `ends`: nothing follows. Whether it fits behind what is there.
  [[nodiscard]] bool fits(std::size_t size, bool ends) const {
    return line_.size() + (is_empty_ ? 0 : 1) + size + (ends ? 0 : kBackslash.size()) <= width_;
  }
  void begin_line() {
    if (is_empty_) return;
    out_ += line_ + std::string(kBackslash) + '\n';
    line_.assign(rest_, ' ');
    is_empty_ = true;
  }
  void add(const std::string& word) {
    line_ += (is_empty_ ? "" : " ") + word;
    is_empty_ = false;
  }
  [[nodiscard]] std::string text() const { return out_ + line_ + '\n'; }

 private:
  std::size_t width_, rest_;
  std::string out_, line_;
  bool is_empty_ = true;
};

// An option stays with its values where they fit into one line.
std::string broken_command(std::string_view command, std::size_t width, std::size_t first,
                           std::size_t rest) {
  const std::vector<std::string> words = words_of(command);
  CommandLines lines(width, first, rest);
  for (std::size_t i = 0; i < words.size();) {
    std::size_t end = i + 1, size = words[i].size();
    for (; end < words.size() && !words[end].starts_with('-'); ++end) size += 1 + words[end].size();
    if (!lines.fits(size, end == words.size())) lines.begin_line();
    for (; i < end; ++i) {
      if (!lines.fits(words[i].size(), i + 1 == words.size())) lines.begin_line();
      lines.add(words[i]);
    }
  }
  return lines.text();
}

// `goes_on`: the line before ended in a backslash.
std::string fit_line(std::string_view line, std::size_t width, bool goes_on) {
  const std::size_t indent = indent_of(line);
  if (begins_command(line.substr(indent)) || goes_on) {
    const bool has_more = line.ends_with(kBackslash);
    if (has_more) line.remove_suffix(kBackslash.size());
    const std::size_t rest = goes_on ? indent : indent + 4;
    std::string out = broken_command(line.substr(indent), width - (has_more ? 2 : 0), indent, rest);
    if (has_more) out.insert(out.size() - 1, kBackslash);
    return out;
  }
  const std::size_t command = command_in(line);
  if (command != std::string_view::npos) {
    std::string_view before = line.substr(0, command);
    before.remove_suffix(1);
    return (before.size() > width ? fit_words(before, width) : std::string(before) + '\n') +
           command_lines(std::string(line.substr(command)), width, indent + 2);
  }
  return fit_words(line, width);
}

}  // namespace

std::string command_lines(const std::string& command, std::size_t width, std::size_t indent) {
  return broken_command(command, width, indent, indent + 4);
}

std::string fit_lines(std::string_view text, std::size_t width) {
  std::string out;
  bool goes_on = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool has_end = end < text.size();
    std::string fitted =
        line.size() > width ? fit_line(line, width, goes_on) : std::string(line) + '\n';
    if (!has_end) fitted.pop_back();
    out += fitted;
    goes_on = line.ends_with(kBackslash);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string show_controls(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr unsigned kLead = 0xC2U;  // of U+0080 to U+009F in UTF-8, which are controls, too
  const auto is_second = [](unsigned byte) { return byte >= 0x80U && byte < 0xA0U; };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned>(static_cast<unsigned char>(text[i]));
    bool is_control = (byte < 0x20U && byte != '\n' && byte != '\t') || byte == 0x7FU;
    if (byte == kLead && i + 1 < text.size()) {
      const auto second = static_cast<unsigned>(static_cast<unsigned char>(text[i + 1]));
      if (is_second(second)) {
        is_control = true;
        byte = second;
        ++i;
      }
    }
    if (!is_control) {
      out += text[i];
      continue;
    }
    out += "\\u00";
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

}  // namespace penstock
