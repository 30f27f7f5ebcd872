// Colours are put into finished text by its form alone: headings, marks of plans, the first word of
// an error. NO_COLOR, TERM=dumb and a pipe turn them off; --color overrides all.
#include "cli/io/color.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr std::string_view kBold = "\033[1m", kBoldRed = "\033[1;31m", kGreen = "\033[32m",
                           kCyan = "\033[36m", kPlain = "\033[0m";

std::string in(std::string_view color, std::string_view text) {
  return std::string(color) + std::string(text) + std::string(kPlain);
}

ColorChoice choice_named(const std::string& name) {
  return parse_word<ColorChoice>("--color", name,
                                 {{"auto", ColorChoice::kAuto},
                                  {"always", ColorChoice::kAlways},
                                  {"never", ColorChoice::kNever}});
}

// Set, and to more than nothing.
std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool forces(const std::string& value) { return !value.empty() && value != "0"; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "Memory by rank (GiB)" between an empty line and its table: no columns, and something below it.
bool is_heading(std::string_view before, std::string_view line, std::string_view after) {
  return before.empty() && !after.empty() && !line.empty() && line[0] >= 'A' && line[0] <= 'Z' &&
         line.find("  ") == std::string_view::npos;
}

// The answer of `plan`, a sentence of a few lines behind an empty one.
bool is_answer(std::string_view before, bool was_answer, std::string_view line) {
  return (before.empty() && line.starts_with("Use ")) || (was_answer && !line.empty());
}

// "1* 4.688 s ..." is a row of the table of plans.
std::string with_marks(std::string_view line) {
  const std::size_t number = std::min(line.find_first_not_of(' '), line.size());
  std::size_t mark = number;
  while (mark < line.size() && is_digit(line[mark])) ++mark;
  std::size_t end = mark;
  while (end < line.size() && (line[end] == '=' || line[end] == '*')) ++end;
  if (mark == number || end == mark || end == line.size() || line[end] != ' ') {
    return std::string(line);
  }
  return std::string(line.substr(0, mark)) + in(kGreen, line.substr(mark, end - mark)) +
         std::string(line.substr(end));
}

// Up to the next line break; "" behind the last one.
std::string_view line_at(std::string_view text, std::size_t begin) {
  if (begin >= text.size()) return "";
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

std::string colored_line(std::string_view line, std::string_view first_word,
                         std::string_view color) {
  if (!line.starts_with(first_word)) return std::string(line);
  return in(color, first_word) + std::string(line.substr(first_word.size()));
}

}  // namespace

ColorChoice take_color(Arguments& arguments) {
  constexpr std::string_view kName = "--color";
  ColorChoice choice = ColorChoice::kAuto;
  std::string when;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--";) {
    const bool apart = arguments[i] == kName;
    if (!apart && !arguments[i].starts_with("--color=")) {
      ++i;
      continue;
    }
    if (!when.empty()) bad_option("--color", "given 2 times", "keep one of them");
    if (apart && i + 1 == arguments.size()) {
      bad_option("--color", "needs a value", "auto, always or never");
    }
    when = apart ? arguments[i + 1] : arguments[i].substr(kName.size() + 1);
    choice = choice_named(when);
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(first, first + (apart ? 2 : 1));
  }
  return choice;
}

bool use_color(ColorChoice choice, const Environment& environment, bool is_terminal) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  if (!value_of(environment, "NO_COLOR").empty()) return false;
  if (forces(value_of(environment, "FORCE_COLOR"))) return true;
  if (forces(value_of(environment, "CLICOLOR_FORCE"))) return true;
  if (value_of(environment, "CLICOLOR") == "0" || value_of(environment, "TERM") == "dumb") {
    return false;
  }
  return is_terminal;
}

std::string colored_text(const std::string& text) {
  std::string out;
  std::string_view before = "the first line is not a heading";
  bool answers = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view line = line_at(text, begin);
    const std::size_t next = begin + line.size() + 1;
    answers = is_answer(before, answers, line);
    const bool is_bold = answers || is_heading(before, line, line_at(text, next));
    out += is_bold ? in(kBold, line) : with_marks(line);
    if (begin + line.size() < text.size()) out += '\n';
    before = line;
    begin = next;
  }
  return out;
}

std::string colored_error(const std::string& message) {
  std::string out = colored_line(line_at(message, 0), "error:", kBoldRed);
  for (std::size_t begin = line_at(message, 0).size(); begin < message.size();) {
    const std::string_view line = line_at(message, begin + 1);
    const bool is_error = line.starts_with("error:");  // of several
    out += '\n' +
           (is_error ? colored_line(line, "error:", kBoldRed) : colored_line(line, "help:", kCyan));
    begin += 1 + line.size();
  }
  return out;
}

}  // namespace penstock
