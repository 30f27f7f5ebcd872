// Each line loses escape sequences, what a progress bar has overwritten, and the prefix of torchrun
// or srun, which names its rank. A last line without an end counts only if it ends as a whole
// report does. Numbers are read from digits, never by the locale.
#include "trainers/logs/log_lines.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/values/byte_order_mark.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr int kMostRanks = 1 << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// ESC [ parameters letter: colours and the like.
std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
      continue;
    }
    if (i + 1 >= text.size() || text[i + 1] != '[') continue;
    i += 2;
    while (i < text.size() && !is_letter(text[i])) ++i;
  }
  return plain;
}

// "[rank3]: ..." and "[default3]:..." of torchrun, "3: ..." of srun -l.
void take_prefix(TextLine& line) {
  std::size_t at = 0;
  const bool bracket = line.text.starts_with('[');
  if (bracket) at = 1;
  while (bracket && at < line.text.size() && is_letter(line.text[at])) ++at;
  if (bracket && at == 1) return;  // "[2024-05-01 ..."
  const std::size_t digits = at;
  int rank = 0;
  while (at < line.text.size() && is_digit(line.text[at]) && rank < kMostRanks) {
    rank = rank * 10 + (line.text[at++] - '0');
  }
  const std::string_view end = bracket ? "]:" : ": ";
  if (at == digits || std::string_view(line.text).substr(at, 2) != end) return;
  line.rank = rank;
  line.text.erase(0, at + 2);
}

// With what Megatron-LM, or torchtitan, writes behind the last number of a step.
bool ends_a_report(std::string_view text) {
  text = trimmed(text);
  return text.ends_with('|') || text.ends_with('%');
}

}  // namespace

LogText lines_of(std::string_view text) {
  LogText log;
  text = without_byte_order_mark(text);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const bool has_end = end < text.size();
    TextLine line{.number = number, .rank = -1, .text = without_escapes(text.substr(0, end))};
    text.remove_prefix(has_end ? end + 1 : end);
    while (line.text.ends_with('\r')) line.text.pop_back();
    if (!has_end && !ends_a_report(line.text)) {
      log.cut_off = true;
      break;
    }
    // A progress bar writes over its own line; what was written last stands there.
    if (const std::size_t at = line.text.rfind('\r'); at != std::string::npos) {
      line.text.erase(0, at + 1);
    }
    take_prefix(line);
    log.lines.push_back(std::move(line));
  }
  return log;
}

std::optional<std::int64_t> number_after(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = trimmed(line.substr(at + label.size()));
  std::size_t end = 0;
  while (end < rest.size() && is_digit(rest[end])) ++end;
  return whole_number(rest.substr(0, end));
}

std::string time_in(std::string_view line) {
  constexpr std::string_view kShape = "0000-00-00 00:00:00";
  for (std::size_t at = 0; at + kShape.size() <= line.size(); ++at) {
    const std::string_view part = line.substr(at, kShape.size());
    const bool fits = std::equal(part.begin(), part.end(), kShape.begin(), [](char c, char shape) {
      return shape == '0' ? is_digit(c) : c == shape;
    });
    if (fits) return std::string(part);
  }
  return "";
}

void keep_memory(std::vector<LoggedMemory>& memory, const LoggedMemory& found) {
  const auto at =
      std::lower_bound(memory.begin(), memory.end(), found.rank,
                       [](const LoggedMemory& other, int rank) { return other.rank < rank; });
  if (at == memory.end() || at->rank != found.rank) {
    memory.insert(at, found);
    return;
  }
  if (found.allocated) at->allocated = std::max(at->allocated.value_or(Bytes{}), *found.allocated);
  at->reserved = std::max(at->reserved, found.reserved);
}

void bad_log_value(const std::string& file, int line, std::string_view label, std::string_view what,
                   std::string_view value) {
  constexpr std::size_t kLongest = 60;
  std::string shown(value.substr(0, kLongest));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  throw_bad_input(fmt::format(
      "{}:{}: {}: expected {}, got '{}'\nhelp: give the log as the trainer wrote it, or remove "
      "the line",
      file, line, label, what, shown));
}

}  // namespace penstock
