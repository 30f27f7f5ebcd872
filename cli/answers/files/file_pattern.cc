// A pattern is refused with the files that it would have been: all of them where the verb takes
// several, else the first with which nothing in the command would be refused.
#include "cli/answers/files/file_pattern.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/refusal_of.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// "8*8" is a number, and "https://x?y" no file.
bool is_pattern(const std::string& word) {
  const bool is_name = word.find_first_of("/.") != std::string::npos &&
                       word.find("://") == std::string::npos && !word.starts_with('-');
  return is_name && word.find_first_of("*?") != std::string::npos && !is_there(word);
}

// '*' is any letters, '?' is one. Where the rest does not match, the last '*' takes one letter
// more.
bool is_called(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Of one folder: a pattern of folders is not followed.
Arguments files_called(const std::string& pattern) {
  constexpr int kMostLooked = 10'000;
  const fs::path path(pattern);
  const std::string name = path.filename().string();
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Arguments found;
  std::error_code error;
  int looked = 0;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (++looked > kMostLooked) break;
    const std::string own = each->path().filename().string();
    if (own.starts_with('.') || !is_called(own, name)) continue;
    found.push_back(path.has_parent_path() ? (path.parent_path() / own).string() : own);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Arguments with_files(const Arguments& words, const std::string& pattern, const Arguments& files) {
  Arguments out;
  for (const std::string& word : words) {
    if (word == pattern) {
      out.insert(out.end(), files.begin(), files.end());
    } else {
      out.push_back(word.ends_with('=' + pattern)
                        ? word.substr(0, word.size() - pattern.size()) + files.front()
                        : word);
    }
  }
  return out;
}

bool is_taken(const std::string& verb, Arguments words) {
  words.insert(words.begin(), verb);
  return !refusal_of(words);
}

// "a.sh, b.sh and 3 others"
std::string listed(const Arguments& files) {
  constexpr std::size_t kMost = 4;
  const Arguments first(files.begin(),
                        files.begin() + std::min(std::ssize(files), std::ptrdiff_t{kMost}));
  return joined(first, ", ") +
         (files.size() > kMost ? fmt::format(" and {} others", files.size() - kMost) : "");
}

std::string help_for_none(const std::string& verb, const std::string& pattern,
                          const Arguments& words) {
  const fs::path folder = fs::path(pattern).parent_path();
  const Arguments others = files_called((folder / "*").string());
  if (others.empty()) return fmt::format("no file is called so; name one: penstock {} FILE", verb);
  const std::string whole =
      verb == "check" && !folder.empty()
          ? "; " + whole_command(verb, with_files(words, pattern, {folder.string()})) +
                " judges those of the folder"
          : "";
  return fmt::format("no file is called so; there are {}{}", listed(others), whole);
}

std::string help_for_found(const std::string& verb, const std::string& pattern,
                           const Arguments& words, const Arguments& files) {
  constexpr std::size_t kMostTried = 20;
  if (const Arguments all = with_files(words, pattern, files);
      files.size() < kMostTried && verb != "check" && is_taken(verb, all)) {
    return whole_command(verb, all);
  }
  Arguments tried = files;
  tried.resize(std::min(files.size(), kMostTried));
  const auto best = std::find_if(tried.begin(), tried.end(), [&](const std::string& file) {
    return is_taken(verb, with_files(words, pattern, {file}));
  });
  const std::string& one = best == tried.end() ? files.front() : *best;
  const std::string command = whole_command(verb, with_files(words, pattern, {one}));
  const fs::path folder = fs::path(pattern).parent_path();
  const std::string all =
      verb != "check"
          ? ""
          : "; all files of the folder: " +
                whole_command(verb,
                              with_files(words, pattern, {folder.empty() ? "." : folder.string()}));
  return files.size() == 1 ? command
                           : fmt::format("one at a time of {}: {}{}", listed(files), command, all);
}

void refuse_pattern(const std::string& verb, const std::string& pattern, const Arguments& words) {
  const Arguments files = files_called(pattern);
  throw Error(
      ErrorKind::kMissingResource,
      fmt::format("{}: this is a pattern, and a file belongs here\nhelp: {}", pattern,
                  files.empty() ? help_for_none(verb, pattern, words)
                                : "the shell puts names in its place only without quotes; " +
                                      help_for_found(verb, pattern, words, files)));
}

}  // namespace

// Options of data take patterns themselves, as their help says: "--data 'tokens/*.bin'".
void refuse_file_pattern(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  const GivenWords given = given_words(table, words);
  for (const std::string& word : given.bare) {
    if (is_pattern(word)) refuse_pattern(verb, word, words);
  }
  for (const GivenOption& option : given.options) {
    if (option.name == "--cluster" && is_pattern(option.value)) {
      refuse_pattern(verb, option.value, words);
    }
  }
}

}  // namespace penstock
