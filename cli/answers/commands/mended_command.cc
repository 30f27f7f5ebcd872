#include "cli/answers/commands/mended_command.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/answers/commands/proposed_commands.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/words/is_among.h"

namespace penstock {

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string_view help_in(std::string_view message) {
  constexpr std::string_view kHelp = "\nhelp: ";
  const std::size_t at = message.find(kHelp);
  return at == std::string_view::npos ? std::string_view{} : message.substr(at + kHelp.size());
}

bool names_file(std::string_view word) {
  constexpr std::string_view kEndings[] = {".json", ".csv", ".log",  ".sh",   ".jsonl",
                                           ".txt",  ".svg", ".toml", ".html", ".yaml"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [word](std::string_view ending) { return word.ends_with(ending); });
}

bool names_example(const Arguments& words, const Arguments& typed) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    // "gbs=N", a number that nobody has said.
    if (words[i] == "N" || words[i].ends_with("=N") || words[i].find("=N ") != std::string::npos) {
      return true;
    }
    const bool is_written = i > 0 && (words[i - 1] == "-o" || words[i - 1] == "--output");
    std::error_code error;
    if (!is_written && names_file(words[i]) && !is_among(typed, words[i]) &&
        !std::filesystem::exists(words[i], error)) {
      return true;
    }
  }
  return false;
}

std::string option_in(std::string_view message) {
  constexpr std::string_view kUnknown = "unknown option '";
  if (message.starts_with(kUnknown)) message.remove_prefix(kUnknown.size());
  if (!message.starts_with('-')) return "";
  return std::string(message.substr(0, message.find_first_of("': \n")));
}

std::size_t place_of(const Arguments& words, const std::string& option) {
  const auto at = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return word.substr(0, word.find('=')) == option;
  });
  return static_cast<std::size_t>(at - words.begin());
}

bool is_of_part(std::string_view refusal) { return first_line(refusal).ends_with(": missing"); }

namespace {

// Two where the option has a value: no file, unless that is proposed as a value, too.
std::size_t words_of_option(const Arguments& typed, std::size_t at, const Arguments& proposed) {
  if (at + 1 == typed.size() || typed[at].find('=') != std::string::npos) return 1;
  const std::string& next = typed[at + 1];
  std::error_code error;
  if (next.starts_with('-')) return 1;
  return is_among(proposed, next) || !std::filesystem::exists(next, error) ? 2 : 1;
}

// Whether all files of a command that are there are in the other one.
bool keeps_files(const Arguments& words, const Arguments& of) {
  return std::all_of(of.begin(), of.end(), [&](const std::string& word) {
    std::error_code error;
    return !names_file(word) || is_among(words, word) || !std::filesystem::exists(word, error);
  });
}

void erase_option(Arguments& words, std::size_t at, const Arguments& proposed) {
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
  words.erase(first, first + static_cast<std::ptrdiff_t>(words_of_option(words, at, proposed)));
}

// "write 128", where the error is about the value of an option: the option with that one. Empty
// where the help goes on, and may mean something else.
Arguments proposed_value(std::string_view help, const std::string& option) {
  constexpr std::string_view kWrite = "write ";
  if (option.empty() || !help.starts_with(kWrite)) return {};
  const std::string_view line = first_line(help.substr(kWrite.size()));
  const std::string_view value = line.substr(0, line.find(','));
  const bool is_word = !value.empty() && value.find_first_of(" ;'\"{<|-") == value.npos;
  return is_word ? Arguments{option, std::string(value)} : Arguments{};
}

// "llama.json: cannot read this file": the one with which the help begins takes its place. Empty
// where there is none.
Arguments with_file_of_help(Arguments words, const std::string& message) {
  const std::string_view help = help_in(message);
  const std::string file = message.substr(0, message.find(": "));
  const std::string instead(help.substr(0, help.find(' ')));
  std::error_code error;
  const bool is_file = names_file(instead) && std::filesystem::is_regular_file(instead, error);
  const auto at = std::find(words.begin(), words.end(), file);
  if (!is_file || at == words.end()) return {};
  *at = instead;
  return words;
}

// The options that a help text would have in place of others: "write --pin PP=1", "did you mean
// '--shards'? --shards 4: ..", "costs are one option, with commas: --cost F=10ms,B=20ms".
Arguments options_meant(std::string_view help) {
  constexpr std::string_view kMean = "did you mean ", kWrite = "write ";
  if (help.starts_with(kWrite)) return proposed_options(help);
  std::string line(first_line(help));
  const std::size_t question = line.find("? --"), colon = line.find(": --");
  if (question != std::string::npos) {
    line.erase(0, question + 2);
  } else if (line.starts_with(kMean)) {
    line.erase(0, kMean.size());
    if (line.find(" or ") != std::string::npos) return {};
    line = line.substr(0, line.find('?'));
  } else if (line.starts_with("costs ") && colon != std::string::npos) {
    line.erase(0, colon + 2);
  }
  return proposed_options(std::string(kWrite) + line);
}

// With the examples that the help has for what is missing.
Arguments with_examples(const Arguments& words, const std::string& refusal) {
  constexpr std::string_view kExample = "for example ";
  const std::string_view help = first_line(help_in(refusal));
  const std::size_t at = help.find(kExample);
  if (at == std::string_view::npos) return {};
  const std::string_view example = help.substr(at + kExample.size());
  const std::vector<ProposedCommand> commands = proposed_commands(example);
  if (!commands.empty()) return commands.front().words;
  Arguments all = words;
  const Arguments more = proposed_options("write " + std::string(example));
  all.insert(all.end(), more.begin(), more.end());
  return more.empty() ? Arguments{} : all;
}

// "write EP=8" of a layout that says more: the others stay.
void keep_other_pairs(const Arguments& words, std::size_t place, Arguments& proposed) {
  const bool is_pair = proposed.size() == 2 && proposed[0] == "--layout" &&
                       proposed[1].find('=') != std::string::npos;
  if (!is_pair || place + 1 >= words.size() || words[place] != "--layout") return;
  const std::string& typed = words[place + 1];
  if (typed.find(',') == std::string::npos) proposed[1] = layout_with(typed, {proposed[1]});
}

}  // namespace

Arguments as_helped(Arguments words, const std::string& message, const Arguments& typed) {
  const std::string option = option_in(message);
  const std::string_view help = help_in(message);
  if (option.empty()) return with_file_of_help(std::move(words), message);
  Arguments proposed = options_meant(help);
  if (proposed.empty()) proposed = proposed_value(help, option);
  const std::size_t place = place_of(words, option);
  keep_other_pairs(words, place, proposed);
  const bool is_left_out =
      message.starts_with("unknown option") && help.starts_with("leave it out");
  const bool says_how = !proposed.empty() || is_left_out;
  if (!says_how || place == words.size()) return {};
  for (std::size_t at = place; at < words.size(); at = place_of(words, option)) {
    erase_option(words, at, proposed);
  }
  bool is_kept = false;
  for (const std::string& word : proposed) {
    if (word.starts_with('-')) {
      const std::size_t known = place_of(words, word);
      is_kept = known < words.size() && place_of(typed, word) < typed.size();
      if (!is_kept && known < words.size()) erase_option(words, known, proposed);
    }
    if (!is_kept) words.push_back(word);
  }
  return words;
}

Mended mended_command(Arguments words, std::string refusal, const Arguments& typed,
                      const RefusalOf& refusal_of) {
  bool has_examples = false;
  constexpr int kMostSteps = 6;
  for (int step = 0; step < kMostSteps; ++step) {
    Arguments next;
    if (is_of_part(refusal)) {
      has_examples = true;
      next = with_examples(words, refusal);
    } else {
      next = as_helped(words, refusal, typed);
      const std::vector<ProposedCommand> commands = proposed_commands(help_in(refusal));
      if (!commands.empty() && commands.front().lengths.size() == 1) next = commands.front().words;
    }
    if (next.empty() || next == words || !keeps_files(next, words)) return {};
    if (is_among(next, "-") || names_example(next, typed)) return {};
    words = std::move(next);
    const auto other = refusal_of(words);
    if (!other) return {words, has_examples};
    refusal = *other;
  }
  return {};
}

}  // namespace penstock
