// Only what can be tried is tried: not commands that name files which nobody typed and which are
// not there ("plan.json" as an example), nor those that have the very error that they should mend.
#include "cli/options/tried_proposals.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/io/shell_word.h"
#include "cli/options/is_among.h"
#include "cli/options/proposed_commands.h"
#include "cli/options/typed_for_examples.h"

namespace penstock {
namespace {

constexpr std::string_view kHelp = "\nhelp: ", kLeftOut = "leave it out: ";

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// Behind the first "help: "; empty where there is none.
std::string_view help_in(std::string_view message) {
  const std::size_t at = message.find(kHelp);
  return at == std::string_view::npos ? std::string_view{} : message.substr(at + kHelp.size());
}

bool names_file(std::string_view word) {
  constexpr std::string_view kEndings[] = {".json", ".csv", ".log",  ".sh",   ".jsonl",
                                           ".txt",  ".svg", ".toml", ".html", ".yaml"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [word](std::string_view ending) { return word.ends_with(ending); });
}

// A proposed command that would be refused.
struct Refused {
  std::size_t begin, end;  // in the message
  Arguments words;
  std::string refusal;
};

// A file as an example: it is read, is not there, and nobody typed it.
bool names_example(const Arguments& words, const Arguments& typed) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_written = i > 0 && (words[i - 1] == "-o" || words[i - 1] == "--output");
    std::error_code error;
    if (!is_written && names_file(words[i]) && !is_among(typed, words[i]) &&
        !std::filesystem::exists(words[i], error)) {
      return true;
    }
  }
  return false;
}

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

// "train.log" of a refusal that is about a file which lies here by chance and nobody typed; else
// empty.
std::string chance_file(const Refused& one, const Arguments& typed) {
  for (const std::string& word : one.words) {
    if (names_file(word) && !is_among(typed, word) && one.refusal.starts_with(word + ": ")) {
      return word;
    }
  }
  return "";
}

// The option that an error is about: "unknown option '--load'", "--layout: ..".
std::string option_in(std::string_view message) {
  constexpr std::string_view kUnknown = "unknown option '";
  if (message.starts_with(kUnknown)) message.remove_prefix(kUnknown.size());
  if (!message.starts_with('-')) return "";
  return std::string(message.substr(0, message.find_first_of("': \n")));
}

// Where an option stands, also as "--gpus=8"; the end where it does not.
std::size_t place_of(const Arguments& words, const std::string& option) {
  const auto at = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return word.substr(0, word.find('=')) == option;
  });
  return static_cast<std::size_t>(at - words.begin());
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

// The command as its help would have it: with other options in place of the one that the error is
// about, or without it. Empty where the help says neither. What was typed stays where the help
// proposes it again; an example gives way.
Arguments as_helped(Arguments words, const std::string& message, const Arguments& typed) {
  const std::string option = option_in(message);
  const std::string_view help = help_in(message);
  if (option.empty()) return with_file_of_help(std::move(words), message);
  Arguments proposed = proposed_options(help);
  if (proposed.empty()) proposed = proposed_value(help, option);
  const std::size_t place = place_of(words, option);
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

class Trial {
 public:
  Trial(std::string message, const Arguments& typed, const RefusalOf& refusal_of)
      : message_(std::move(message)), typed_(typed), refusal_of_(refusal_of) {}

  // Of several commands one that is taken is enough: the others are for other wishes.
  std::string run() {
    const std::vector<ProposedCommand> commands = proposed_commands(message_);
    std::vector<Refused> refused;
    for (const ProposedCommand& command : commands) {
      const Tried tried = try_command(command);
      if (tried.is_taken) return with_error_without();
      if (tried.refused) refused.push_back(*tried.refused);
    }
    // From the end, so that the places of the others stay.
    std::for_each(refused.rbegin(), refused.rend(), [this](const Refused& one) { mend(one); });
    const bool is_left_out = help_in(message_).starts_with(kLeftOut);
    if (commands.empty() || (refused.empty() && is_left_out)) try_options();
    return message_ + next_error_;
  }

 private:
  [[nodiscard]] bool can_be_tried(const Arguments& words) const {
    return !is_among(words, "-") && !names_example(words, typed_);
  }

  // Nothing when it is taken, is refused for what is known already, or has something twice that the
  // help may have meant to replace.
  [[nodiscard]] std::optional<std::string> new_refusal(const Arguments& words) const {
    auto refusal = refusal_of_(words);
    if (refusal && (is_of_twice(*refusal) || is_told(*refusal))) refusal.reset();
    return refusal;
  }
  [[nodiscard]] bool is_told(const std::string& refusal) const {
    return message_.find(first_line(refusal)) != std::string::npos;
  }
  [[nodiscard]] static bool is_of_part(const std::string& refusal) {
    return first_line(refusal).ends_with(": missing");
  }
  [[nodiscard]] static bool is_of_twice(const std::string& refusal) {
    const std::string_view line = first_line(refusal);
    return line.find("given twice") != line.npos || line.find("given 2 times") != line.npos;
  }

  // "leave it out: ..": the command beside it answers another wish, and the option is left out.
  [[nodiscard]] std::string with_error_without() {
    if (help_in(message_).starts_with(kLeftOut)) try_options();
    return message_ + next_error_;
  }

  // Neither where it cannot be tried. One that lacks something is taken: many show a part.
  struct Tried {
    bool is_taken = false;
    std::optional<Refused> refused;
  };

  [[nodiscard]] Tried try_command(const ProposedCommand& command) const {
    Tried tried;
    for (const std::size_t length : command.lengths) {
      Arguments words(command.words.begin(),
                      command.words.begin() + static_cast<std::ptrdiff_t>(length));
      if (length < 2 || !can_be_tried(words)) return {};  // a verb alone is only mentioned
      auto refusal = new_refusal(words);
      if (!refusal || is_of_part(*refusal)) return {!command.follows, std::nullopt};
      if (tried.refused) continue;
      tried.refused =
          Refused{command.begin, command.ends[length - 1], std::move(words), std::move(*refusal)};
    }
    return tried;
  }

  // With "FILE.log" in place of a file that was only found.
  void put_place(const Refused& one, const std::string& file) {
    Arguments words(one.words.begin() + 1, one.words.end());
    std::replace(words.begin(), words.end(), file, "FILE" + file.substr(file.rfind('.')));
    message_.replace(one.begin, one.end - one.begin, command_of(one.words.front(), words));
  }

  void mend(const Refused& one) {
    if (const std::string file = chance_file(one, typed_); !file.empty())
      return put_place(one, file);
    const Arguments mended = mended_by_help(one.words, one.refusal);
    if (mended.empty()) return tell(one.refusal);
    message_.replace(one.begin, one.end - one.begin,
                     command_of(mended.front(), {mended.begin() + 1, mended.end()}));
    tell(std::string(first_line(one.refusal)) + "\nhelp: the command above has it right");
  }

  void try_options() {
    const Arguments words = as_helped(typed_, message_, typed_);
    if (words.empty() || !can_be_tried(words)) return;
    const auto refusal = refusal_of_(words);
    if (!refusal || is_of_twice(*refusal) || is_of_value_left_behind(*refusal)) return;
    if (!is_told(*refusal)) tell(*refusal);
    const Arguments mended = mended_by_help(words, *refusal);
    if (mended.empty()) return;
    next_error_ +=
        "\nhelp: together: " + command_of(mended.front(), {mended.begin() + 1, mended.end()});
  }

  // Whether an option has a value is not known of one that there is not.
  [[nodiscard]] bool is_of_value_left_behind(const std::string& refusal) const {
    const std::size_t next = place_of(typed_, option_in(message_)) + 1;
    return next < typed_.size() &&
           refusal.starts_with('\'' + typed_[next] + "' is one argument too many");
  }

  // What the help of one refusal after the other leads to, where that is taken.
  [[nodiscard]] Arguments mended_by_help(Arguments words, std::string refusal) const {
    constexpr int kMostSteps = 5;
    for (int step = 0; step < kMostSteps; ++step) {
      if (is_of_part(refusal)) return {};  // its help has values that nobody typed
      Arguments next = as_helped(words, refusal, typed_);
      const std::vector<ProposedCommand> commands = proposed_commands(help_in(refusal));
      if (!commands.empty() && commands.front().lengths.size() == 1) next = commands.front().words;
      if (next.empty() || next == words || !keeps_files(next, words)) return {};
      if (!can_be_tried(next)) return {};
      words = std::move(next);
      const auto other = refusal_of_(words);
      if (!other) return words;
      refusal = *other;
    }
    return {};
  }

  // One further error is enough at a time: that of the first command, which is mended last.
  void tell(const std::string& error) {
    next_error_ = "\nerror: " + with_typed_for_examples(error, typed_, refusal_of_);
  }

  std::string message_;
  const Arguments& typed_;
  const RefusalOf& refusal_of_;
  std::string next_error_;
};

}  // namespace

std::string with_tried_proposals(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of) {
  return Trial(std::move(message), typed, refusal_of).run();
}

}  // namespace penstock
