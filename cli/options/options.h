// The options of one verb: declared once, and both parsed and explained from that. A thin layer
// over CLI11, which no other file of ours sees.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/answers/commands/typed_command.h"
#include "cli/answers/options/option_aliases.h"
#include "cli/answers/options/word_index.h"
#include "cli/io/answer.h"
#include "cli/options/option_table.h"
#include "report/screen.h"

namespace penstock {

class Options {
 public:
  // `usage`: behind "usage: penstock "; `examples`: whole lines.
  Options(std::string usage, std::string about, std::string examples);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // What follows stands under this title in the help.
  void heading(const std::string& title);
  // A required argument without a name, in order.
  void positional(const std::string& name, std::string help, std::string& value);
  // One that may be left out.
  void positional_if_any(const std::string& name, std::string help,
                         std::optional<std::string>& value);
  // Required, as the last one, and as many as there are.
  void positionals(const std::string& name, std::string help, std::vector<std::string>& values);
  // `names`: "-P,--ranks".
  void option(const std::string& names, std::string value_name, std::string help,
              std::optional<std::string>& value);
  void repeated(const std::string& names, std::string value_name, std::string help,
                std::vector<std::string>& values);
  void flag(const std::string& names, std::string help, bool& value);
  // Filled with the names of the options that were given.
  void names_given(std::vector<std::string>& names) { given_.push_back(&names); }
  // Filled with what was typed.
  void keep_command(TypedCommand& command) { kept_ = &command; }
  // Plans behind the first argument are values of this repeated option: "report a.json b.json".
  void plans_follow(std::string option) { further_plans_ = std::move(option); }
  // What to do about options of these names (without dashes) that people try with this verb.
  void remark(std::vector<std::string> typed, std::string help);
  // All values that the option declared last can have: for completions, not for checking.
  void choices(std::vector<std::string> values);

  // Fills the values; options may have the names that other tools have for them
  // (option_aliases.h). Returns the help when that was asked for: a text, or with --json the table
  // of options; `screen`: the help is written for it. Error{kBadInput} for unknown options (with
  // the nearest name), missing values and missing arguments.
  [[nodiscard]] std::optional<std::string> parse(const Arguments& typed, Screen screen);

  [[nodiscard]] std::string help(Screen screen) const;
  [[nodiscard]] OptionTable table() const;

 private:
  struct Entry;
  struct Parser;
  Entry& add(const std::string& names, std::string value_name, std::string help);
  [[nodiscard]] std::string help_for_value(const std::string& name) const;
  [[nodiscard]] std::string help_for_repeated(const Arguments& own, const std::string& names,
                                              const std::string& value_name,
                                              const std::vector<std::string>& values) const;
  [[nodiscard]] std::string help_for_devices(const Arguments& own,
                                             const std::vector<std::string>& values) const;
  [[nodiscard]] std::string each_planned(const Arguments& typed, const std::string& option,
                                         const Arguments& instead) const;
  [[nodiscard]] std::string help_for_counted_types(const Arguments& own, const std::string& option,
                                                   const std::vector<std::string>& values) const;
  [[nodiscard]] TypedCommand typed_command(const Arguments& own) const;
  void refuse_quoted(const Arguments& arguments) const;
  void refuse_blank_options(const Arguments& arguments) const;
  [[noreturn]] void refuse_missing(const Arguments& own, const Entry& missing) const;
  void refuse_gpus(const Arguments& arguments) const;
  [[nodiscard]] bool takes_value(const std::string& name) const;
  [[nodiscard]] const WordIndex& index() const;  // made when a word is unknown
  void refuse_other_choice(const Entry& missing) const;
  [[nodiscard]] bool has(const char* name) const;
  [[nodiscard]] std::string command_once(const Arguments& own, const std::string& names,
                                         const std::vector<std::string>& values) const;
  [[nodiscard]] std::string other_name_of(const std::string& names, const Arguments& typed) const;
  [[nodiscard]] Arguments choice_called(const Arguments& own, const std::string& word) const;
  [[nodiscard]] std::string help_for_surplus(const Arguments& own, const std::string& word) const;
  [[nodiscard]] std::vector<std::string> further_plans() const;
  void refuse_leftovers(const Arguments& own) const;
  void refuse_missing_values(const Arguments& own) const;
  [[nodiscard]] std::vector<std::string> known_names() const;  // "--gpus", "-P"

  std::string usage_, about_, examples_, further_plans_;
  std::vector<Entry> entries_;
  std::vector<OptionRemark> remarks_;
  std::vector<std::vector<std::string>*> given_;
  TypedCommand* kept_ = nullptr;
  std::unique_ptr<Parser> parser_;
  mutable std::unique_ptr<WordIndex> index_;
};

// The value of an option that must be given.
const std::string& required(const std::optional<std::string>& value, const std::string& option,
                            const std::string& example);

// Error{kBadInput} for the first of the options that was given, and would not be looked at.
void refuse_given(const std::vector<std::string>& given, const std::vector<std::string>& options,
                  const std::string& why, const std::string& help);

}  // namespace penstock
