#include "trainers/lint/source_lines.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace penstock {

int line_count_of(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
}

int SourceLines::add(std::string path, int lines, int main_lines) {
  const int first = std::max(next_, main_lines + 1);
  next_ = first + lines;
  parts_.push_back({std::move(path), first});
  return first;
}

const SourceLines::Part* SourceLines::part_of(int line) const {
  const auto behind = std::upper_bound(parts_.begin(), parts_.end(), line,
                                       [](int at, const Part& part) { return at < part.first; });
  return behind == parts_.begin() ? nullptr : &*(behind - 1);
}

std::string SourceLines::file_of(int line) const {
  const Part* part = part_of(line);
  return part == nullptr ? std::string() : part->path;
}

int SourceLines::line_in_file(int line) const {
  const Part* part = part_of(line);
  return part == nullptr ? line : line - part->first + 1;
}

std::string SourceLines::words(int line) const {
  const Part* part = part_of(line);
  if (part == nullptr) return fmt::format("line {}", line);
  return fmt::format("line {} of {}", line_in_file(line),
                     part->path.substr(part->path.find_last_of('/') + 1));
}

}  // namespace penstock
