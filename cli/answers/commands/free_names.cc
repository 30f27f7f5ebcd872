#include "cli/answers/commands/free_names.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Plans, books and profiles are read again; a page or a picture is drawn anew.
bool is_taken(const std::string& name) {
  std::error_code error;
  return name.ends_with(".json") && fs::exists(name, error);
}

// "plan-2.json" of "plan.json", or with the next number that is free.
std::string free_name(const std::string& name) {
  const fs::path path(name);
  constexpr int kMost = 100;
  for (int i = 2; i < kMost; ++i) {
    const fs::path other = path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), i,
                                                            path.extension().string());
    if (!is_taken(other.string())) return other.string();
  }
  return name;
}

bool ends_word(char sign) {
  return std::string_view(" ;,)\n'\"").find(sign) != std::string_view::npos;
}

// From `begin` on, as a word of its own.
void rename(std::string& text, std::size_t begin, const std::string& name,
            const std::string& other) {
  std::size_t at = text.find(name, begin);
  while (at != std::string::npos) {
    const std::size_t end = at + name.size();
    const bool is_word = text[at - 1] == ' ' && (end == text.size() || ends_word(text[end]));
    if (is_word) text.replace(at, name.size(), other);
    at = text.find(name, at + (is_word ? other.size() : name.size()));
  }
}

bool was_typed(const Arguments& typed, const std::string& name) {
  return std::any_of(typed.begin(), typed.end(), [&name](const std::string& word) {
    return word == name || word.ends_with('=' + name);
  });
}

}  // namespace

std::string with_free_names(std::string message, const Arguments& typed) {
  constexpr std::string_view kOutput = " -o ";
  for (std::size_t at = message.find(kOutput, message.find("\nhelp: ")); at != std::string::npos;
       at = message.find(kOutput, at + 1)) {
    const std::size_t begin = at + kOutput.size();
    std::size_t end = begin;
    while (end < message.size() && !ends_word(message[end])) ++end;
    const std::string name = message.substr(begin, end - begin);
    if (name.empty() || was_typed(typed, name) || !is_taken(name)) continue;
    rename(message, begin, name, free_name(name));
  }
  return message;
}

}  // namespace penstock
