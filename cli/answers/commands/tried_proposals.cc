// Only what can be tried is tried: not commands that name files which nobody typed and which are
// not there ("plan.json" as an example), nor those that have the very error that they should mend.
#include "cli/answers/commands/tried_proposals.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/answers/commands/mended_command.h"
#include "cli/answers/commands/proposed_commands.h"
#include "cli/answers/commands/typed_for_examples.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"

namespace penstock {
namespace {

constexpr std::string_view kLeftOut = "leave it out: ";

// A proposed command that would be refused.
struct Refused {
  std::size_t begin, end;  // in the message
  Arguments words;
  std::string refusal;
};

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
    const Arguments mended = mended_command(one.words, one.refusal, typed_, refusal_of_).words;
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
    const Mended mended = mended_command(words, *refusal, typed_, refusal_of_);
    if (mended.words.empty()) return;
    next_error_ += mended.has_examples ? "\nhelp: together, with examples for what is missing: "
                                       : "\nhelp: together: ";
    next_error_ += command_of(mended.words.front(), {mended.words.begin() + 1, mended.words.end()});
  }

  // Whether an option has a value is not known of one that there is not.
  [[nodiscard]] bool is_of_value_left_behind(const std::string& refusal) const {
    const std::size_t next = place_of(typed_, option_in(message_)) + 1;
    return next < typed_.size() &&
           refusal.starts_with('\'' + typed_[next] + "' is one argument too many");
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
